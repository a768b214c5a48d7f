// An agent of @anthropic-ai/sdk. Arguments: the session's address, and `stream` if replies are to be streamed.
import Anthropic from "@anthropic-ai/sdk";

const [address, stream] = process.argv.slice(2);
const client = new Anthropic({ baseURL: address.replace(/\/v1$/, ""), apiKey: "none" });
const schema = { type: "object", properties: { word: { type: "string" } }, required: ["word"] };
const tools = [{ name: "look_up", description: "Look up the number of a word.", input_schema: schema }];
const messages = [{ role: "user", content: "What do a, b and c add up to?" }];
for (;;) {
  const asked = { model: "policy", max_tokens: 200, messages, tools };
  const answer = stream ? await client.messages.stream(asked).finalMessage() : await client.messages.create(asked);
  const calls = answer.content.filter((block) => block.type === "tool_use");
  if (calls.length === 0) {
    console.log(answer.content.at(-1).text);
    break;
  }
  const results = calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: "3" }));
  messages.push({ role: "assistant", content: answer.content }, { role: "user", content: results });
}
