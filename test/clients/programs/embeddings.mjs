// Vectors by the official client of Node. Prints one JSON object of what came back. WEIR_ORIGIN, WEIR_KEY and WEIR_MODEL say
// where; WEIR_INPUTS is a list of texts.
import OpenAI from 'openai';

const { WEIR_ORIGIN: origin, WEIR_KEY: apiKey, WEIR_MODEL: model, WEIR_INPUTS: texts } = process.env;
const input = JSON.parse(texts);
const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 });

const answer = await client.embeddings.create({ model, input });
const floats = await client.embeddings.create({ model, input, encoding_format: 'float' });
const one = await client.embeddings.create({ model, input: input[0] });
const shorter = await client.embeddings.create({ model, input, dimensions: 16 });
const vectorsOf = ({ data }) => data.map(({ embedding }) => embedding);
console.log(
  JSON.stringify({
    ...{ vectors: vectorsOf(answer), floats: vectorsOf(floats), one: vectorsOf(one)[0], shorter: vectorsOf(shorter) },
    ...{ usage: answer.usage, id: answer.model },
  }),
);
