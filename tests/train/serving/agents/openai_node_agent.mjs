// An agent of openai for JavaScript. Arguments: the session's address, and `stream` if replies are to be streamed.

import OpenAI from "openai";

const lookUp = ({ word }) => ({ a: 1, b: 2, c: 3 })[word];

const tools = [
  {
    type: "function",
    function: {
      name: "look_up",
      description: "Look up the number of a word.",
      parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
      parse: JSON.parse,
      function: lookUp,
    },
  },
];

function add(baseURL, stream) {
  const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 40 });
  const messages = [{ role: "user", content: "What do a, b and c add up to?" }];
  return client.chat.completions.runTools({ model: "policy", messages, tools, stream }).finalContent();
}

console.log(await add(process.argv[2], process.argv.includes("stream")));
