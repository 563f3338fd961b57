import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import { useGatewayUrl } from '../data/session.ts';
import { CodeTabs } from '../parts/code-tabs.tsx';

function examplesOf(model: string, url: string) {
  return [
    {
      name: 'curl',
      code: `curl ${url}/chat/completions \\
  -H "Authorization: Bearer $WEIR_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello!"}]}'`,
    },
    {
      name: 'Python',
      code: `import os
from openai import OpenAI

client = OpenAI(base_url="${url}", api_key=os.environ["WEIR_KEY"])
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello!"}],
)
print(answer.choices[0].message.content)`,
    },
    {
      name: 'JavaScript',
      code: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${url}', apiKey: process.env.WEIR_KEY });
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello!' }],
});
console.log(answer.choices[0].message.content);`,
    },
  ] as const;
}

function vectorExamplesOf(model: string, url: string) {
  return [
    {
      name: 'curl',
      code: `curl ${url}/embeddings \\
  -H "Authorization: Bearer $WEIR_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"model": "${model}", "input": ["Hello!", "How are you?"]}'`,
    },
    {
      name: 'Python',
      code: `import os
from openai import OpenAI

client = OpenAI(base_url="${url}", api_key=os.environ["WEIR_KEY"])
answer = client.embeddings.create(model="${model}", input=["Hello!", "How are you?"])
print(answer.data[0].embedding[:5])`,
    },
    {
      name: 'JavaScript',
      code: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${url}', apiKey: process.env.WEIR_KEY });
const answer = await client.embeddings.create({ model: '${model}', input: ['Hello!', 'How are you?'] });
console.log(answer.data[0].embedding.slice(0, 5));`,
    },
  ] as const;
}

/** How to call a model from a shell and from two languages. */
export function CallExamples({ model: { id, kind } }: { readonly model: Pick<ModelObject, 'id' | 'kind'> }) {
  const url = useGatewayUrl();
  return <CodeTabs of={id} examples={kind === 'embedding' ? vectorExamplesOf(id, url) : examplesOf(id, url)} />;
}
