import type { Cause } from '../../../core/cause.ts';

/** What an engine's error says, in lower case. */
interface SaidError {
  readonly status: number | undefined;
  readonly message: string;
  /** Its codes and types. */
  readonly names: readonly string[];
}

/** Codes with one certain cause: OpenAI, Moonshot · DashScope · DeepSeek, Z.ai · OpenAI, Mistral. */
const names: ReadonlyMap<string, Cause> = new Map<string, Cause>([
  ...['insufficient_quota', 'exceeded_current_quota_error', 'billing_hard_limit_reached'].map(quota),
  ...['arrearage', 'insufficient_balance', 'payment_required', '1113'].map(quota),
  ...['model_not_found', 'invalid_model', 'deploymentnotfound', '1211'].map((name) => [name, 'no-such-model'] as const),
]);

function quota(name: string): readonly [string, Cause] {
  return [name, 'no-quota'];
}

/** An engine's limit of inputs in one call. */
export const batchLimit = /batch size \d+ > maximum|batch size is invalid/;

/** The causes of messages; the first match counts. */
const messages: readonly (readonly [pattern: RegExp, cause: Cause])[] = [
  // nginx, Envoy, Go: TLS is spoken on this port.
  [/plain http request was sent to https|http request to an https server/, 'tls-expected'],
  // A proxy's or another program's page.
  [/^\s*<(?:!doctype|html|head|body)\b/, 'not-an-api'],
  // Ollama: "model requires more system memory (5.6 GiB) than is available". CUDA, Metal, vLLM's KV cache.
  [
    /out of memory|more system memory|\boom\b|(?:unable|failed) to allocate|no available memory for the cache/,
    'out-of-memory',
  ],
  // llama.cpp: "input (600 tokens) is too large to process. increase the physical batch size (current batch size: 512)".
  [/physical batch size/, 'batch-too-small'],
  // TEI: "batch size 33 > maximum allowed batch size 32". DashScope: "batch size is invalid, it should not be larger than 10".
  [batchLimit, 'too-many-inputs'],
  // llama.cpp: "Loading model". TGI, proxies of hosts: "Model is currently loading".
  [/loading model|model is (?:currently |still )?(?:loading|starting)|still loading|warming up/, 'loading'],
  // vLLM: "… requires --enable-auto-tool-choice and --tool-call-parser to be set". llama.cpp: "tools param requires
  // --jinja flag". Ollama: "… does not support tools".
  [/enable-auto-tool-choice|tool-call-parser|tools? param requires|does not support tools/, 'no-tool-parser'],
  // vLLM: "As of transformers v4.44, default chat template is no longer allowed".
  [/chat.?template/, 'no-chat-template'],
  [
    /insufficient (?:balance|quota|credit|fund)|in arrears|(?:exceeded|out of) (?:your )?(?:current )?quota|billing/,
    'no-quota',
  ],
  // vLLM, OpenAI: "The model `x` does not exist". Ollama: "model 'x' not found". Mistral: "Invalid model: x".
  [/\bmodel\b[^.]{0,200}(?:does not exist|not found|not exist|not supported|is not available)/, 'no-such-model'],
  [/(?:invalid|unknown|unsupported) model\b|no such model/, 'no-such-model'],
  // OpenAI: "Unsupported parameter". FastAPI, pydantic: "Extra inputs are not permitted".
  [
    /(?:unsupported|unrecognized|unknown) (?:request argument|parameter|field|argument)|extra inputs are not permitted/,
    'refuses-parameter',
  ],
];

export const isCauseName = (name: string): boolean => names.has(name);

/** The cause that an engine's error names; undefined: no more than its status and its kind. */
export function engineCause({ status, message, names: said }: SaidError): Cause | undefined {
  if (status === 402) return 'no-quota';
  const named = said.map((name) => names.get(name)).find((cause) => cause !== undefined);
  return named ?? messages.find(([pattern]) => pattern.test(message))?.[1];
}
