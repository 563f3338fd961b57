"""Vectors and ranks by Python's libraries, each as its documentation shows it.

Prints one JSON object of what came back. WEIR_ORIGIN, WEIR_KEY and WEIR_MODEL say where; WEIR_INPUTS is a list of texts, and
WEIR_QUERY what documents are ranked by.
"""

import json
import os
import sys

from conversation import BASE_URL, KEY, MODEL, ORIGIN

INPUTS = json.loads(os.environ["WEIR_INPUTS"])
QUERY = os.environ.get("WEIR_QUERY", "")


def openai():
    from openai import OpenAI

    client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0)
    answer = client.embeddings.create(model=MODEL, input=INPUTS)
    floats = client.embeddings.create(model=MODEL, input=INPUTS, encoding_format="float")
    one = client.embeddings.create(model=MODEL, input=INPUTS[0])
    shorter = client.embeddings.create(model=MODEL, input=INPUTS, dimensions=16)
    return {
        "vectors": [entry.embedding for entry in answer.data],
        "floats": [entry.embedding for entry in floats.data],
        "one": one.data[0].embedding,
        "shorter": [entry.embedding for entry in shorter.data],
        "usage": answer.usage.model_dump(),
        "id": answer.model,
    }


def langchain():
    import tiktoken
    from langchain_openai import OpenAIEmbeddings

    # Its vocabulary would be downloaded. With any other one the client sends ids, too.
    ranks = {bytes([byte]): byte for byte in range(256)}
    vocabulary = tiktoken.Encoding("bytes", pat_str=r"[\s\S]", mergeable_ranks=ranks, special_tokens={})
    tiktoken.get_encoding = lambda _: vocabulary

    def embed(**more):
        client = OpenAIEmbeddings(model=MODEL, base_url=BASE_URL, api_key=KEY, max_retries=0, **more)
        return client.embed_documents(INPUTS)

    try:
        refused = {"vectors": len(embed())}
    except Exception as error:
        refused = {"error": type(error).__name__, "message": str(error)}
    return {"refused": refused, "vectors": embed(check_embedding_ctx_length=False)}


def llama_index():
    from llama_index.embeddings.openai import OpenAIEmbedding
    from llama_index.embeddings.openai_like import OpenAILikeEmbedding

    like = OpenAILikeEmbedding(model_name=MODEL, api_base=BASE_URL, api_key=KEY, max_retries=0)
    official = OpenAIEmbedding(model_name=MODEL, api_base=BASE_URL, api_key=KEY, max_retries=0)
    return {
        "vectors": like.get_text_embedding_batch(INPUTS),
        "query": like.get_query_embedding(INPUTS[0]),
        "official": official.get_text_embedding_batch(INPUTS),
    }


def cohere():
    import cohere

    def ranks(results):
        return [{"index": one.index, "relevance_score": one.relevance_score} for one in results]

    first = cohere.Client(KEY, base_url=ORIGIN).rerank(model=MODEL, query=QUERY, documents=INPUTS, top_n=2)
    second = cohere.ClientV2(KEY, base_url=ORIGIN).rerank(model=MODEL, query=QUERY, documents=INPUTS)
    return {"first": ranks(first.results), "second": ranks(second.results)}


LIBRARIES = {
    "openai": openai,
    "langchain-openai": langchain,
    "llama-index-embeddings-openai-like": llama_index,
    "cohere": cohere,
}
print(json.dumps(LIBRARIES[sys.argv[1]]()))
