import type { Route } from '../core/catalog.ts';
import { keyedDigest } from './keyed-digest.ts';
import { routeKey } from './route-key.ts';

/**
 * Which route served the beginning of a prompt last: its engine has it in its prefix cache. `prefixes` are those of
 * `PromptShape`, shortest first.
 */
export interface PrefixAffinity {
  /** Key of the route that served the longest beginning that is known. */
  readonly servedBy: (prefixes: readonly number[]) => string | undefined;
  /**
   * A name for the shortest beginning: all turns of a conversation have the same one, so Envoy keeps them on one endpoint.
   * It is keyed by a secret of this process and tells nobody anything about the prompt.
   */
  readonly digest: (prefixes: readonly number[]) => string | undefined;
  /** Call it when an answer is complete. */
  readonly served: (prefixes: readonly number[], route: Route) => void;
}

export interface AffinityOptions {
  /** Something that nobody can guess, new with each start. */
  readonly secret: string;
  /** Most beginnings remembered; the one that was not asked for longest is forgotten first. */
  readonly most?: number;
}

const usualMost = 20_000;

export function createAffinity({ secret, most = usualMost }: AffinityOptions): PrefixAffinity {
  const routes = new Map<number, string>();

  function remember(prefix: number, route: string): void {
    routes.delete(prefix);
    routes.set(prefix, route);
    if (routes.size <= most) return;
    for (const oldest of routes.keys()) {
      routes.delete(oldest);
      return;
    }
  }

  return {
    servedBy: (prefixes) => {
      for (let index = prefixes.length - 1; index >= 0; index -= 1) {
        const prefix = prefixes[index];
        const route = prefix === undefined ? undefined : routes.get(prefix);
        if (prefix === undefined || route === undefined) continue;
        remember(prefix, route);
        return route;
      }
      return undefined;
    },
    digest: ([shortest]) => (shortest === undefined ? undefined : keyedDigest(secret, shortest)),
    served: (prefixes, route) => {
      const [shortest] = prefixes;
      const longest = prefixes.at(-1);
      if (shortest === undefined || longest === undefined) return;
      const name = routeKey(route);
      // The next turn begins with the whole of this one, other conversations with the shortest alone: between them there is
      // nothing to look for.
      remember(shortest, name);
      if (longest !== shortest) remember(longest, name);
    },
  };
}
