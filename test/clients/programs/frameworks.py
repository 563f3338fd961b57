"""The same conversations of libraries that only `npm run clients` runs, at their newest versions."""

import asyncio
import json

from conversation import BASE_URL, DESCRIPTION, KEY, MODEL, PARAMETERS, QUESTION, TOOL_QUESTION, USER, get_tide


def openai_agents():
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0)
    model = OpenAIChatCompletionsModel(model=MODEL, openai_client=client)
    agent = Agent(name="Harbour", model=model, tools=[function_tool(get_tide)])
    return {
        "text": Runner.run_sync(agent, QUESTION).final_output,
        "answer": Runner.run_sync(agent, TOOL_QUESTION).final_output,
    }


def litellm():
    from litellm import completion

    tools = [{"type": "function", "function": {"name": "get_tide", "description": DESCRIPTION, "parameters": PARAMETERS}}]

    def ask(**more):
        usual = {"model": f"openai/{MODEL}", "messages": USER, "api_base": BASE_URL, "api_key": KEY, "num_retries": 0}
        return completion(**{**usual, **more})

    messages = [{"role": "user", "content": TOOL_QUESTION}]
    turn = ask(messages=messages, tools=tools).choices[0].message
    messages.append(turn.model_dump(exclude_none=True))
    for call in turn.tool_calls:
        said = get_tide(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": said})
    return {
        "text": ask().choices[0].message.content,
        "streamed": "".join(chunk.choices[0].delta.content or "" for chunk in ask(stream=True)),
        "answer": ask(messages=messages, tools=tools).choices[0].message.content,
    }


def instructor():
    import instructor
    from openai import OpenAI
    from pydantic import BaseModel

    class Harbour(BaseModel):
        harbour: str

    client = instructor.from_openai(OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0))
    formed = client.chat.completions.create(model=MODEL, messages=USER, response_model=Harbour, max_retries=1)
    return {"text": formed.harbour, "structured": formed.model_dump()}


def smolagents():
    from smolagents import OpenAIModel
    from smolagents.models import ChatMessage, MessageRole

    model = OpenAIModel(model_id=MODEL, api_base=BASE_URL, api_key=KEY)
    messages = [ChatMessage(role=MessageRole.USER, content=[{"type": "text", "text": QUESTION}])]
    streamed = "".join(delta.content or "" for delta in model.generate_stream(messages))
    return {"text": model.generate(messages).content, "streamed": streamed}


def haystack():
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage
    from haystack.tools import create_tool_from_function
    from haystack.utils import Secret

    generator = OpenAIChatGenerator(
        model=MODEL, api_base_url=BASE_URL, api_key=Secret.from_token(KEY), max_retries=0
    )
    agent = Agent(chat_generator=generator, tools=[create_tool_from_function(get_tide)])

    def ask(question):
        return agent.run(messages=[ChatMessage.from_user(question)])["messages"][-1].text

    return {"text": ask(QUESTION), "answer": ask(TOOL_QUESTION)}


def strands():
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel

    def ask(question):
        model = OpenAIModel(client_args={"base_url": BASE_URL, "api_key": KEY}, model_id=MODEL)
        return str(Agent(model=model, tools=[tool(get_tide)], callback_handler=None)(question))

    return {"text": ask(QUESTION), "answer": ask(TOOL_QUESTION)}


def agno():
    from agno.agent import Agent
    from agno.models.openai.like import OpenAILike

    def ask(question):
        model = OpenAILike(id=MODEL, base_url=BASE_URL, api_key=KEY)
        return Agent(model=model, tools=[get_tide], telemetry=False).run(question).content

    return {"text": ask(QUESTION), "answer": ask(TOOL_QUESTION)}


def autogen():
    from autogen_agentchat.agents import AssistantAgent
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    abilities = {"vision": False, "function_calling": True, "json_output": True, "structured_output": True}
    client = OpenAIChatCompletionClient(
        model=MODEL, base_url=BASE_URL, api_key=KEY, model_info={**abilities, "family": "unknown"}
    )

    async def ask(question):
        agent = AssistantAgent("harbour", model_client=client, tools=[get_tide], reflect_on_tool_use=True)
        return (await agent.run(task=question)).messages[-1].content

    async def both():
        return {"text": await ask(QUESTION), "answer": await ask(TOOL_QUESTION)}

    return asyncio.run(both())


def dspy():
    import dspy

    dspy.configure(lm=dspy.LM(f"openai/{MODEL}", api_base=BASE_URL, api_key=KEY, cache=False, num_retries=0))
    said = dspy.settings.lm(QUESTION)[0]
    # With its reasoning, where the model tells that.
    return {"text": said["text"] if isinstance(said, dict) else said}


LIBRARIES = {
    "openai-agents": openai_agents,
    "litellm": litellm,
    "instructor": instructor,
    "smolagents": smolagents,
    "haystack-ai": haystack,
    "strands-agents": strands,
    "agno": agno,
    "autogen-agentchat": autogen,
    "dspy": dspy,
}
