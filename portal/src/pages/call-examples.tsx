import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components';
import { useSession } from '../data/session.ts';
import { Copy } from '../parts/copy.tsx';

/** Placeholder where the address of the gateway is not set. */
const placeholder = 'https://gateway.example/v1';

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
  const { gateway_url: url } = useSession();
  return (
    <Tabs className="stack-tight">
      <TabList aria-label={`Languages, ${model}`} className="segments" style={{ width: 'fit-content' }}>
        {examplesOf(model, url ?? placeholder).map(({ name }) => (
          <Tab key={name} id={name} className="segment" style={{ display: 'flex', alignItems: 'center' }}>
            {name}
          </Tab>
        ))}
      </TabList>
      {examplesOf(model, url ?? placeholder).map(({ name, code }) => (
        <TabPanel key={name} id={name} className="stack-tight">
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- A box that scrolls must be reachable by the keyboard. */}
          <pre className="code" tabIndex={0} role="region" aria-label={`${name}, ${model}`}>
            {code}
          </pre>
          <div>
            <Copy text={code} label={`${name} example`} size="small" />
          </div>
        </TabPanel>
      ))}
    </Tabs>
  );
}
