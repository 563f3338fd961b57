// Reads a token from a file for each request, as a pod does whose token is replaced. Prints one JSON object. WEIR_TOKEN_FILE has the
// token, and WEIR_NEXT_TOKEN the one that replaces it.
import { readFile, writeFile } from 'node:fs/promises';
import OpenAI from 'openai';

const { WEIR_ORIGIN: origin, WEIR_MODEL: model, WEIR_TOKEN_FILE: file, WEIR_NEXT_TOKEN: next } = process.env;
const token = async () => (await readFile(file, 'utf8')).trim();
const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: token, maxRetries: 0 });
const ask = async () => {
  const answer = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'What is a weir?' }],
  });
  return answer.choices[0].message.content;
};
const before = await ask();
await writeFile(file, next);
console.log(JSON.stringify({ before, after: await ask() }));
