// An agent of the Vercel AI SDK. Arguments: the session's address, the protocol, and `stream` if replies are to be
// streamed.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const [baseURL, protocol, stream] = process.argv.slice(2);
const openai = createOpenAI({ baseURL, apiKey: "none" });
const models = {
  chat: openai.chat("policy"),
  responses: openai.responses("policy"),
  messages: createAnthropic({ baseURL, apiKey: "none" })("policy"), // this library does not add /v1
};
const look_up = tool({
  description: "Look up the number of a word.",
  inputSchema: z.object({ word: z.string() }),
  execute: async () => "3",
});
const asked = {
  model: models[protocol],
  tools: { look_up },
  prompt: "What do a, b and c add up to?",
  stopWhen: stepCountIs(9),
  providerOptions: { openai: { store: false } }, // the server stores no items
};
console.log(stream ? await streamText(asked).text : (await generateText(asked)).text);
