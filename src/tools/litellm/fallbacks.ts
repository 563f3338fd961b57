import type { Placed } from './model-facts.ts';
import type { LiteLlmConfig } from './read-config.ts';

/**
 * Adds the deployments to which a name falls back to those of the name itself. LiteLLM has such lists in two places:
 * `fallbacks: [{claude: [deepseek/deepseek-chat]}]`.
 */
export function withFallbacks(placed: readonly Placed[], config: LiteLlmConfig): readonly Placed[] {
  const groups = Map.groupBy(placed, ({ deployment }) => deployment.model_name);
  const added = fallbacksOf(config).flatMap(({ name, others }) =>
    groups.has(name)
      ? others.flatMap((other) =>
          (other === name ? [] : (groups.get(other) ?? [])).map((one) => ({
            ...one,
            deployment: { ...one.deployment, model_name: name },
            isFallback: true,
          })),
        )
      : [],
  );
  return [...placed, ...added];
}

/** The paths of the lists that `withFallbacks` takes in whole. */
export function convertedFallbacks(config: LiteLlmConfig, names: ReadonlySet<string>): ReadonlySet<string> {
  return new Set(
    fallbacksOf(config)
      .filter(({ name, others }) => names.has(name) && others.every((other) => names.has(other)))
      .map(({ path }) => path),
  );
}

interface Fallback {
  readonly path: string;
  readonly name: string;
  readonly others: readonly string[];
}

function fallbacksOf(config: LiteLlmConfig): readonly Fallback[] {
  return (['router_settings', 'litellm_settings'] as const).flatMap((part) =>
    config[part].fallbacks.flatMap((entry, index) =>
      Object.entries(entry).map(([name, others]) => ({ path: `${part}.fallbacks[${index}].${name}`, name, others })),
    ),
  );
}
