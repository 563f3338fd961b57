import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import type { createHealth } from '../../src/gateway/routing/health/health.ts';
import type { createPools } from '../../src/gateway/routing/pool/pools.ts';
import type { Ablation } from './ablations.ts';

const routing = new URL('../../src/gateway/routing/', import.meta.url).href;
const ablationOf = new Map<string, Ablation>();

const keyIn = (url: string | undefined): string | undefined => url?.split('?without=')[1];

registerHooks({
  // What a module of the ablated pool imports is ablated with it.
  resolve: (specifier, context, next) => {
    const found = next(specifier, context);
    const key = keyIn(context.parentURL);
    return key !== undefined && found.url.startsWith(routing)
      ? { ...found, url: `${found.url}?without=${key}` }
      : found;
  },
  load: (url, context, next) => {
    const loaded = next(url, context);
    const ablation = ablationOf.get(keyIn(url) ?? '');
    return ablation !== undefined && url.startsWith(`${routing}pool/${ablation.file}?`)
      ? { ...loaded, source: withoutIt(readFileSync(new URL(url), 'utf8'), ablation) }
      : loaded;
  },
});

/** A source without one of its mechanisms. */
export function withoutIt(source: string, { name, text, without }: Ablation): string {
  const [before, after, ...more] = source.split(text);
  if (before === undefined || after === undefined || more.length > 0) throw new Error(`"${name}" is not there once`);
  return before + without + after;
}

export interface AblatedPool {
  readonly createPools: typeof createPools;
  readonly createHealth: typeof createHealth;
}

/** The product's pools without one mechanism. Undefined: with all of them. */
export async function poolWithout(ablation: Ablation | undefined): Promise<AblatedPool> {
  const key = ablation === undefined ? '' : `?without=${ablationOf.size}`;
  if (ablation !== undefined) ablationOf.set(String(ablationOf.size), ablation);
  const pools: Pick<AblatedPool, 'createPools'> = await import(`${routing}pool/pools.ts${key}`);
  const health: Pick<AblatedPool, 'createHealth'> = await import(`${routing}health/health.ts${key}`);
  return { createPools: pools.createPools, createHealth: health.createHealth };
}
