// An agent of the Vercel AI SDK. Arguments: the session's address, and `stream` if replies are to be streamed.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const lookUp = tool({
  description: "Look up the number of a word.",
  inputSchema: z.object({ word: z.string() }),
  execute: ({ word }) => ({ a: 1, b: 2, c: 3 })[word],
});

async function add(baseURL, stream) {
  const model = createOpenAICompatible({ name: "gymposium", baseURL })("policy");
  const prompt = "What do a, b and c add up to?";
  const options = { model, prompt, tools: { look_up: lookUp }, stopWhen: stepCountIs(5), maxRetries: 40 };
  return stream ? streamText(options).text : (await generateText(options)).text;
}

console.log(await add(process.argv[2], process.argv.includes("stream")));
