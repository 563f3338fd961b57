"""Conversations of Python's libraries with Weir over its responses surface. Run as libraries.py is."""

import json
import sys

from conversation import BASE_URL, DESCRIPTION, KEY, MODEL, PARAMETERS, QUESTION, TOOL_QUESTION, get_tide


def openai():
    from openai import OpenAI
    from pydantic import BaseModel

    class Harbour(BaseModel):
        harbour: str

    client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0)
    text = client.responses.create(model=MODEL, input=QUESTION).output_text
    with client.responses.stream(model=MODEL, input=QUESTION) as stream:
        streamed = stream.get_final_response().output_text
    tools = [{"type": "function", "name": "get_tide", "description": DESCRIPTION, "parameters": PARAMETERS}]
    usual = {"model": MODEL, "tools": tools, "store": False, "include": ["reasoning.encrypted_content"]}
    conversation = [{"role": "user", "content": TOOL_QUESTION}]
    turn = client.responses.create(input=conversation, **usual)
    called = None
    conversation += turn.output
    for call in turn.output:
        if call.type == "function_call":
            called = json.loads(call.arguments)
            conversation.append({"type": "function_call_output", "call_id": call.call_id, "output": get_tide(**called)})
    answer = client.responses.create(input=conversation, **usual).output_text
    formed = client.responses.parse(model=MODEL, input=QUESTION, text_format=Harbour)
    return {
        **{"text": text, "streamed": streamed, "called": called, "answer": answer},
        "structured": formed.output_parsed.model_dump(),
    }


print(json.dumps({"openai": openai}[sys.argv[1]]()))
