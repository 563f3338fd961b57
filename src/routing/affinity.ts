import type { Route } from '../core/catalog.ts';
import { keyedDigest } from './keyed-digest.ts';
import { routeKey } from './route-key.ts';

/**
 * Remembers which route served the beginning of a prompt last: its engine has that beginning in its prefix cache. `prefixes` are
 * those of `PromptShape`, shortest first.
 */
export interface PrefixAffinity {
  /** Key of the route that served the longest known beginning of a prompt; undefined when none is known. */
  readonly servedBy: (prefixes: readonly number[]) => string | undefined;
  /**
   * A name for a conversation, of `PromptShape.conversation`, by which its turns are kept on one endpoint. Processes with the same
   * secret give the same name, which tells nothing about the prompt to those who do not have it.
   */
  readonly digest: (conversation: number | undefined) => string | undefined;
  /** Call it when an answer is complete. */
  readonly served: (prefixes: readonly number[], route: Route) => void;
}

export interface AffinityOptions {
  /** An unguessable text, asked for each time: a service that starts without its database has the one of all replicas only later. */
  readonly secret: () => string;
  /** Most beginnings that are remembered. The beginning that was not asked for longest is forgotten first. */
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
    digest: (conversation) => (conversation === undefined ? undefined : keyedDigest(secret(), conversation)),
    served: (prefixes, route) => {
      const [shortest] = prefixes;
      const longest = prefixes.at(-1);
      if (shortest === undefined || longest === undefined) return;
      const name = routeKey(route);
      // The next turn of this conversation begins with the longest, other conversations with the shortest alone: the prefixes
      // between them would never be looked up.
      remember(shortest, name);
      if (longest !== shortest) remember(longest, name);
    },
  };
}
