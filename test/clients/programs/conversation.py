"""Where Weir is, what it is asked, and the tool that its model may call."""

import os

ORIGIN = os.environ["WEIR_ORIGIN"]
BASE_URL = f"{ORIGIN}/v1"
KEY = os.environ["WEIR_KEY"]
MODEL = os.environ["WEIR_MODEL"]

QUESTION = "What is a weir?"
TOOL_QUESTION = "When does the tide turn at Cork? Use get_tide."
DESCRIPTION = "When the tide turns at a harbour."
PARAMETERS = {"type": "object", "properties": {"harbour": {"type": "string"}}, "required": ["harbour"]}
USER = [{"role": "user", "content": QUESTION}]
BROKEN = [{"role": "user", "content": '[[demo {"status": 500}]] What is a weir?'}]

called = []


def get_tide(harbour: str) -> str:
    """When the tide turns at a harbour.

    Args:
        harbour: Name of the harbour.
    """
    called.append({"harbour": harbour})
    return f"It turns at 17:42 at {harbour}."
