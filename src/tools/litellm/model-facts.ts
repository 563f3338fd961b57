import type { Remark } from './left-out.ts';
import type { ConvertedDeployment } from './make-backend.ts';
import type { Deployment } from './read-config.ts';

/** A deployment that becomes a route. */
export interface Placed {
  /** In `model_list`. */
  readonly index: number;
  readonly deployment: Deployment;
  readonly upstream: ConvertedDeployment;
  /** The deployment belongs to another name, and serves when no deployment of the Model can. */
  readonly isFallback: boolean;
}

const defaultContextLength = 32_768;
/** Decimals of a price in a Model. */
const priceDecimals = 12;
const prices = {
  prompt: 'input_cost_per_token',
  completion: 'output_cost_per_token',
  inputCacheRead: 'cache_read_input_token_cost',
} as const;
type PriceField = (typeof prices)[keyof typeof prices];

/** A value, and the path of the deployment that has it. */
interface Found<Value> {
  readonly path: string;
  readonly value: Value;
}

/** The facts of a Model, from the deployments of its name. Where they differ, it has those of the first, and the smallest window. */
export function modelFacts(members: readonly Placed[], assumed: Remark[]): Readonly<Record<string, unknown>> {
  const own = members.filter(({ isFallback }) => !isFallback);
  const at = `model_list[${own[0]?.index ?? 0}]`;
  const has = (field: 'supports_vision' | 'supports_reasoning'): boolean =>
    own.some(({ deployment }) => deployment.model_info[field] === true);
  const pricing = Object.fromEntries(
    Object.entries(prices).map(([name, field]) => [name, priceOf(pricesIn(own, field), assumed)]),
  );
  if (pricing['prompt'] === undefined || pricing['completion'] === undefined)
    assumed.push({ path: `${at}.model_info`, text: 'no price; pricing is 0, set it' });
  const windows = own.flatMap(({ index, deployment: { model_info: info } }) => {
    const value = info.max_input_tokens ?? info.max_tokens;
    const field = info.max_input_tokens === undefined ? 'max_tokens' : 'max_input_tokens';
    return value === undefined ? [] : [{ path: `model_list[${index}].model_info.${field}`, value }];
  });
  const window = windows.toSorted((one, other) => one.value - other.value)[0];
  if (window === undefined) {
    assumed.push({
      path: `${at}.model_info.max_input_tokens`,
      text: `missing; contextLength is ${defaultContextLength}, set it`,
    });
  } else sayOthers(windows, window, 'contextLength', assumed);
  return {
    contextLength: Math.max(1, Math.trunc(window?.value ?? defaultContextLength)),
    inputModalities: has('supports_vision') ? ['text', 'image'] : undefined,
    pricing: { ...pricing, prompt: pricing['prompt'] ?? '0', completion: pricing['completion'] ?? '0' },
    reasoning: has('supports_reasoning') ? { mode: 'Optional' } : undefined,
  };
}

function pricesIn(members: readonly Placed[], field: PriceField): readonly Found<number>[] {
  return members.flatMap(({ index, deployment }) =>
    (['model_info', 'litellm_params'] as const).flatMap((part) => {
      const value = deployment[part][field];
      return value === undefined ? [] : [{ path: `model_list[${index}].${part}.${field}`, value }];
    }),
  );
}

function priceOf(found: readonly Found<number>[], assumed: Remark[]): string | undefined {
  const [first] = found;
  if (first === undefined) return undefined;
  sayOthers(found, first, 'the price', assumed);
  const text = first.value.toFixed(priceDecimals).replace(/\.?0+$/, '');
  if (Number(text) !== first.value)
    assumed.push({ path: first.path, text: `a price has ${priceDecimals} decimals at most; it is ${text}` });
  return text;
}

/** Names the deployments whose value the Model does not have. */
function sayOthers(all: readonly Found<number>[], chosen: Found<number>, what: string, assumed: Remark[]): void {
  for (const { path, value } of all)
    if (value !== chosen.value)
      assumed.push({ path, text: `is ${value}, and a Model has one; ${what} is ${chosen.value}` });
}
