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

/** How to call a model from a shell and from two languages. */
export function CallExamples({ model }: { readonly model: string }) {
  return <CodeTabs of={model} examples={examplesOf(model, useGatewayUrl())} />;
}
