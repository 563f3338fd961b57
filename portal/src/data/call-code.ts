import type { ModelObject } from '../../../src/portal/api/catalog.ts';

export interface CalledGateway {
  /** Where clients call the gateway, with `/v1`. */
  readonly url: string;
  /** Text of a key to fill in. Undefined: programs read it from the variable WEIR_KEY. */
  readonly key?: string;
}

type CalledModel = Pick<ModelObject, 'id' | 'kind'>;

export interface Example {
  readonly name: string;
  readonly code: string;
}

/** A first call of a model, from a shell and from two languages. */
export function examplesOf({ id, kind }: CalledModel, { url, key }: CalledGateway): readonly Example[] {
  const isVectors = kind === 'embedding';
  const body = isVectors
    ? `"input": ["Hello!", "How are you?"]`
    : `"messages": [{"role": "user", "content": "Hello!"}]`;
  const python = isVectors
    ? `answer = client.embeddings.create(model="${id}", input=["Hello!", "How are you?"])
print(answer.data[0].embedding[:5])`
    : `answer = client.chat.completions.create(
    model="${id}",
    messages=[{"role": "user", "content": "Hello!"}],
)
print(answer.choices[0].message.content)`;
  const node = isVectors
    ? `const answer = await client.embeddings.create({ model: '${id}', input: ['Hello!', 'How are you?'] });
console.log(answer.data[0].embedding.slice(0, 5));`
    : `const answer = await client.chat.completions.create({
  model: '${id}',
  messages: [{ role: 'user', content: 'Hello!' }],
});
console.log(answer.choices[0].message.content);`;
  return [
    {
      name: 'curl',
      code: `curl ${url}/${isVectors ? 'embeddings' : 'chat/completions'} \\
  -H "Authorization: Bearer ${key ?? '$WEIR_KEY'}" \\
  -H 'Content-Type: application/json' \\
  -d '{"model": "${id}", ${body}}'`,
    },
    {
      name: 'Python',
      code: `${key === undefined ? 'import os\n' : ''}from openai import OpenAI

client = OpenAI(base_url="${url}", api_key=${key === undefined ? 'os.environ["WEIR_KEY"]' : `"${key}"`})
${python}`,
    },
    {
      name: 'Node',
      code: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${url}', apiKey: ${key === undefined ? 'process.env.WEIR_KEY' : `'${key}'`} });
${node}`,
    },
  ];
}

/** How coding agents are set up for a model, as in docs/clients.md. Agents need a model that answers in words. */
export function agentExamplesOf(
  model: CalledModel & Pick<ModelObject, 'context_length' | 'tools'>,
  { url, key }: Required<CalledGateway>,
): readonly Example[] {
  if (model.kind !== 'chat') return [];
  const note = model.tools ? '' : '# This model calls no tools, which agents need. Choose another model.\n';
  const context = model.context_length;
  return [
    {
      name: 'Claude Code',
      code: `${note}export ANTHROPIC_BASE_URL=${url.replace(/\/v1$/, '')}
export ANTHROPIC_AUTH_TOKEN=${key}
export ANTHROPIC_MODEL=${model.id}
export ANTHROPIC_DEFAULT_HAIKU_MODEL=${model.id}
${context === null ? '' : `export CLAUDE_CODE_MAX_CONTEXT_TOKENS=${context}\n`}export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
claude`,
    },
    {
      name: 'Codex',
      code: `${note}# Needs the Responses API, which is off by default. An admin switches it on:
# responses.enabled in the chart, or npm start -- --responses.
export WEIR_KEY=${key}
export CODEX_HOME=~/.codex-weir
mkdir -p $CODEX_HOME
cat > $CODEX_HOME/config.toml <<'TOML'
model = "${model.id}"
model_provider = "weir"
${context === null ? '' : `model_context_window = ${context}\n`}web_search = "disabled"

[model_providers.weir]
name = "Weir"
base_url = "${url}"
env_key = "WEIR_KEY"
wire_api = "responses"
TOML
codex`,
    },
  ];
}

interface HandedOver {
  readonly url: string;
  readonly key: string;
  readonly models: string;
  readonly budget: string;
  readonly expires: string;
}

/** What the owner of a new key needs, as plain text: a chat must not read any of it as markup. */
export function keyMessage({ url, key, models, budget, expires }: HandedOver): string {
  return `Your API key for Weir

Base URL: ${url}
API key: ${key}
Models: ${models}
Budget: ${budget}
Expires: ${expires}

OpenAI clients take the base URL as it is, Anthropic clients without /v1.
List the models:
curl ${url}/models -H "Authorization: Bearer ${key}"

Keep the key secret: whoever has it can spend its budget.`;
}
