"""An agent of langgraph. Arguments: the session's address, the protocol, and `stream` if replies are to be
streamed."""

import sys
from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


def look_up(word: str) -> int:
    """Look up the number of a word."""
    return {"a": 1, "b": 2, "c": 3}[word]


def adder(base_url: str, protocol: str, **options: Any) -> Any:
    if protocol == "messages":
        kind, options["base_url"] = ChatAnthropic, base_url.removesuffix("/v1")
    else:
        kind, options["base_url"] = ChatOpenAI, base_url
        options["use_responses_api"] = protocol == "responses"
    model = kind(model="policy", api_key="none", **options).bind_tools([look_up])
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([look_up]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


def main(base_url: str, protocol: str, stream: bool) -> None:
    question = {"messages": [("user", "What do a, b and c add up to?")]}
    print(adder(base_url, protocol, streaming=stream).invoke(question)["messages"][-1].text)


main(*sys.argv[1:3], "stream" in sys.argv)
