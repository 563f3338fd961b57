import type { ModelObject } from '../../../src/portal/api/catalog.ts';

interface CalledGateway {
  /** Where clients call the gateway, with `/v1`. */
  readonly url: string;
  readonly key: string;
}

/** How coding agents are set up for a model, as in docs/how-to/clients.md. Agents need a model that answers in words. */
export function agentExamplesOf(
  model: Pick<ModelObject, 'id' | 'kind' | 'context_length' | 'tools'>,
  { url, key }: CalledGateway,
): readonly { readonly name: string; readonly code: string }[] {
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

interface HandedOver extends CalledGateway {
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
