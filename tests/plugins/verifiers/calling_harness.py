"""A harness in this process that calls the tools of the task's servers, like the harnesses of verifiers in containers.
verifiers imports it by the id `calling-harness`."""

from __future__ import annotations

import json
from typing import Any

import verifiers.v1 as vf
from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from verifiers.v1.harnesses.utils.mcp import mcp_client

__all__ = ["CallingHarness"]


class CallingHarness(vf.Harness[vf.HarnessConfig]):
    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_MCP = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: Any,
        trace: vf.Trace,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        client = AsyncOpenAI(base_url=endpoint, api_key=secret, http_client=DefaultAsyncHttpxClient(trust_env=False))
        [url] = mcp_urls.values()
        messages: list[Any] = [{"role": "user", "content": data.prompt}]
        async with client, mcp_client({"url": url}) as server:
            tools = [
                {
                    "type": "function",
                    "function": {"name": one.name, "description": one.description, "parameters": one.input_schema},
                }
                for one in (await server.list_tools()).tools
            ]
            while True:
                answer = await client.chat.completions.create(model=ctx.model, messages=messages, tools=tools)
                said = answer.choices[0].message
                messages.append(said.model_dump(exclude_none=True))
                if not said.tool_calls:
                    return vf.ProgramResult(exit_code=0, stdout="", stderr="")
                for call in said.tool_calls:
                    result = await server.call_tool(call.function.name, json.loads(call.function.arguments))
                    text = "".join(part.text for part in result.content)
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
