"""An agent whose model calls a tool that it was not offered."""

import json
import os

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(base_url=f"{os.environ['WEIR_ORIGIN']}/v1", api_key=os.environ["WEIR_KEY"])
agent = Agent(OpenAIChatModel(os.environ["WEIR_MODEL"], provider=provider), retries=1)


@agent.tool_plain
def get_tide(harbour: str) -> str:
    """Tells when the tide turns at a harbour."""
    return f"At {harbour} it turns at 17:42."


print(json.dumps({"text": agent.run_sync("When does the tide turn at Cork?").output}))
