"""An agent of langgraph. Arguments: the session's address, and `stream` if replies are to be streamed."""

import sys
from typing import Any

from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


def look_up(word: str) -> int:
    """Look up the number of a word."""
    return {"a": 1, "b": 2, "c": 3}[word]


def adder(base_url: str, **options: Any) -> Any:
    model = ChatOpenAI(model="policy", base_url=base_url, api_key="none", **options).bind_tools([look_up])
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([look_up]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


def main(base_url: str, stream: bool) -> None:
    question = {"messages": [("user", "What do a, b and c add up to?")]}
    print(adder(base_url, streaming=stream).invoke(question)["messages"][-1].content)


main(sys.argv[1], "stream" in sys.argv)
