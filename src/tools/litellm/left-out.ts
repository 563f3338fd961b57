/** Advice for each key of a LiteLLM configuration that has no place in a manifest. */
import { leavesOf, pathText } from './read-config.ts';

/** One line of the report: a path in the configuration, and what to know of it. */
export interface Remark {
  readonly path: string;
  readonly text: string;
}

const used = [
  /^model_list\[\d+\]\.model_name$/,
  /^model_list\[\d+\]\.litellm_params\.(model|api_base|base_url|api_key|api_version|custom_llm_provider|temperature|top_p|max_tokens|weight|order|max_parallel_requests)$/,
  /^model_list\[\d+\]\.litellm_params\.extra_headers\./,
  /^model_list\[\d+\]\.(litellm_params|model_info)\.(input_cost_per_token|output_cost_per_token|cache_read_input_token_cost)$/,
  /^model_list\[\d+\]\.model_info\.(mode|max_input_tokens|supports_vision|supports_reasoning|supports_function_calling)$/,
  // An alias can have dots in its name.
  /^router_settings\.model_group_alias\.(?!.*\.hidden$)/,
];

/** The first pattern that fits has the sentence. */
const hints: readonly (readonly [RegExp, string])[] = [
  [
    /\.(rpm|tpm)$/,
    'no limit for each minute of an engine; without weights it is the route’s share. Limits: capacity of the Backend, rate of a key',
  ],
  [/\.(timeout|stream_timeout|request_timeout)$/, 'Weir judges an engine by its progress, and hedges slow starts'],
  [
    /(num_retries|max_retries|retry_policy|allowed_fails|cooldown_time|retry_after)/,
    'Weir retries and ejects by itself',
  ],
  [
    /(fallbacks|context_window_fallbacks|default_fallbacks)/,
    'add routes of weight 0 to the Model: they serve when no other route can',
  ],
  [/routing_strategy/, 'Weir picks by load, prefix cache and pace'],
  [/(redis_|\.redis|cache)/, 'Weir stores no answers; engines cache prefixes'],
  [/^general_settings\.master_key$/, 'the portal has an admin token of its own; callers get keys with weir key create'],
  [/^general_settings\.database_/, 'keys and spending are not copied; the ledger is set with WEIR_DATABASE_URL'],
  [/^include\b/, 'convert the files that it names as well'],
  [/callback/, 'metrics, traces and the ledger are part of Weir'],
  [/(max_budget|budget_duration|max_internal_user_budget)/, 'budgets belong to keys: weir key create --budget'],
  [/^environment_variables\./, 'set the variable where it is used; credentials are Secrets'],
  [
    /^model_list\[\d+\]\.model_info\.max_tokens$/,
    'the context window is max_input_tokens; max_tokens is taken only without it',
  ],
];

/** The keys that have no counterpart, in their order in the file. `dropped` are indexes of deployments that have a line of their own. */
export function leftOutOf(config: unknown, dropped: ReadonlySet<number>): readonly Remark[] {
  return leavesOf(config)
    .filter(([first, second]) => !(first === 'model_list' && typeof second === 'number' && dropped.has(second)))
    .map(pathText)
    .filter((path) => !used.some((pattern) => pattern.test(path)))
    .map((path) => ({ path, text: hints.find(([pattern]) => pattern.test(path))?.[1] ?? 'Weir has no such setting' }));
}
