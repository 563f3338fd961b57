"""Conversations of Python's libraries with Weir.

Run in an environment that has the library named on the command line; prints one JSON object of what came back.
WEIR_ORIGIN, WEIR_KEY and WEIR_MODEL say where.
"""

import json
import sys

from conversation import (
    BASE_URL,
    BROKEN,
    DESCRIPTION,
    KEY,
    MODEL,
    ORIGIN,
    PARAMETERS,
    QUESTION,
    TOOL_QUESTION,
    USER,
    called,
    get_tide,
)
from frameworks import LIBRARIES as FRAMEWORKS


def error_classes(**requests):
    """Names of the classes that errors come as."""

    def name_of(request):
        try:
            request()
            return "none"
        except Exception as error:
            return type(error).__name__

    return {what: name_of(request) for what, request in requests.items()}


def openai():
    from openai import OpenAI
    from pydantic import BaseModel

    class Harbour(BaseModel):
        harbour: str

    client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0)

    def ask(by=client, **more):
        return by.chat.completions.create(**{"model": MODEL, "messages": USER, **more})

    whole = ask()
    streamed = "".join(c.choices[0].delta.content or "" for c in ask(stream=True) if c.choices)
    tools = [{"type": "function", "function": {"name": "get_tide", "description": DESCRIPTION, "parameters": PARAMETERS}}]
    messages = [{"role": "user", "content": TOOL_QUESTION}]
    with client.chat.completions.stream(model=MODEL, messages=messages, tools=tools) as stream:
        turn = stream.get_final_completion().choices[0].message
    messages.append(turn.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
    for call in turn.tool_calls or []:
        said = get_tide(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": said})
    answer = ask(messages=messages, tools=tools)
    formed = client.chat.completions.parse(model=MODEL, messages=USER, response_format=Harbour)
    return {
        "models": [model.id for model in client.models.list()],
        "retrieved": client.models.retrieve(MODEL).id,
        "text": whole.choices[0].message.content,
        "streamed": streamed,
        "answer": answer.choices[0].message.content,
        "structured": formed.choices[0].message.parsed.model_dump(),
        "errors": error_classes(
            key=lambda: ask(OpenAI(base_url=BASE_URL, api_key="sk-wrong", max_retries=0)),
            model=lambda: ask(model="test/none"),
            request=lambda: ask(temperature=9),
            path=lambda: client.models.retrieve("test/none"),
            engine=lambda: ask(messages=BROKEN),
        ),
        "requestId": whole._request_id,
        "cost": whole.usage.cost,
    }


def anthropic():
    from anthropic import Anthropic
    from pydantic import BaseModel

    class Harbour(BaseModel):
        harbour: str

    client = Anthropic(base_url=ORIGIN, api_key=KEY, max_retries=0)

    def ask(by=client, **more):
        return by.messages.create(**{"model": MODEL, "max_tokens": 1000, "messages": USER, **more})

    def text_of(message):
        return "".join(block.text for block in message.content if block.type == "text")

    whole = ask()
    with client.messages.stream(model=MODEL, max_tokens=1000, messages=USER) as stream:
        streamed = text_of(stream.get_final_message())
    tools = [{"name": "get_tide", "description": DESCRIPTION, "input_schema": PARAMETERS}]
    messages = [{"role": "user", "content": TOOL_QUESTION}]
    with client.messages.stream(model=MODEL, max_tokens=1000, messages=messages, tools=tools) as stream:
        turn = stream.get_final_message()
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": get_tide(**block.input)}
        for block in turn.content
        if block.type == "tool_use"
    ]
    messages += [{"role": "assistant", "content": turn.content}, {"role": "user", "content": results}]
    answer = ask(messages=messages, tools=tools)
    formed = client.messages.parse(model=MODEL, max_tokens=1000, messages=USER, output_format=Harbour)
    return {
        "models": [model.id for model in client.models.list()],
        "retrieved": client.models.retrieve(MODEL).id,
        "counted": client.messages.count_tokens(model=MODEL, messages=USER).input_tokens,
        "text": text_of(whole),
        "streamed": streamed,
        "answer": text_of(answer),
        "structured": formed.parsed_output.model_dump(),
        "errors": error_classes(
            key=lambda: ask(Anthropic(base_url=ORIGIN, api_key="wrong", max_retries=0)),
            model=lambda: ask(model="test/none"),
            request=lambda: ask(extra_body={"temperature": 9}),
            path=lambda: client.models.retrieve("test/none"),
            engine=lambda: ask(messages=BROKEN),
        ),
        "requestId": whole._request_id,
        "cost": whole.usage.cost,
    }


def langchain(model):
    """The same of both surfaces: a chat model of LangChain hides which one it calls."""
    from langchain_core.messages import HumanMessage, ToolMessage

    structure = {"title": "harbour", **PARAMETERS, "additionalProperties": False}
    with_tools = model.bind_tools([get_tide])
    messages = [HumanMessage(TOOL_QUESTION)]
    turn = with_tools.invoke(messages)
    messages.append(turn)
    for call in turn.tool_calls:
        messages.append(ToolMessage(get_tide(**call["args"]), tool_call_id=call["id"]))
    return {
        "text": model.invoke(QUESTION).text,
        "streamed": "".join(chunk.text for chunk in model.stream(QUESTION)),
        "answer": with_tools.invoke(messages).text,
        "structured": model.with_structured_output(structure, method="json_schema").invoke(QUESTION),
    }


def langchain_openai():
    from langchain_openai import ChatOpenAI

    return langchain(ChatOpenAI(model=MODEL, base_url=BASE_URL, api_key=KEY, max_retries=0))


def langchain_anthropic():
    from langchain_anthropic import ChatAnthropic

    return langchain(ChatAnthropic(model=MODEL, base_url=ORIGIN, api_key=KEY, max_tokens=1000, max_retries=0))


def pydantic_ai():
    from pydantic import BaseModel
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Harbour(BaseModel):
        harbour: str

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=BASE_URL, api_key=KEY))
    agent = Agent(model, tools=[get_tide])
    formed = Agent(model, output_type=NativeOutput(Harbour)).run_sync(QUESTION).output
    return {
        "text": agent.run_sync(QUESTION).output,
        "streamed": "".join(agent.run_stream_sync(QUESTION).stream_text(delta=True)),
        "answer": agent.run_sync(TOOL_QUESTION).output,
        "structured": formed.model_dump(),
    }


LIBRARIES = {
    **FRAMEWORKS,
    "openai": openai,
    "anthropic": anthropic,
    "langchain-openai": langchain_openai,
    "langchain-anthropic": langchain_anthropic,
    "pydantic-ai-slim": pydantic_ai,
}
print(json.dumps({**LIBRARIES[sys.argv[1]](), "called": (called or [None])[0]}))
