// An agent of openai, with the Responses API. Arguments: the session's address, and `stream` if replies are to be
// streamed.
import OpenAI from "openai";

const [address, stream] = process.argv.slice(2);
const client = new OpenAI({ baseURL: address, apiKey: "none" });
const parameters = { type: "object", properties: { word: { type: "string" } }, required: ["word"] };
const description = "Look up the number of a word.";
const tools = [{ type: "function", name: "look_up", description, parameters, strict: false }];
const input = [{ role: "user", content: "What do a, b and c add up to?" }];
for (;;) {
  const asked = { model: "policy", input, tools };
  const answer = stream ? await client.responses.stream(asked).finalResponse() : await client.responses.create(asked);
  const calls = answer.output.filter((item) => item.type === "function_call");
  if (calls.length === 0) {
    console.log(answer.output_text);
    break;
  }
  const results = calls.map((call) => ({ type: "function_call_output", call_id: call.call_id, output: "3" }));
  input.push(...answer.output, ...results);
}
