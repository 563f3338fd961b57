import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ablations } from './ablations.ts';
import { withoutIt } from './without.ts';

const sourceOf = (file: string): string =>
  readFileSync(new URL(`../../src/gateway/routing/pool/${file}`, import.meta.url), 'utf8');

describe('an ablation', () => {
  it.each(ablations.map((ablation) => [ablation.name, ablation] as const))('finds %s in the source', (_, ablation) => {
    const source = sourceOf(ablation.file);
    expect(withoutIt(source, ablation)).not.toBe(source);
  });

  it('is refused where its mechanism is gone, or there twice', () => {
    const [ablation] = ablations;
    if (ablation === undefined) throw new Error('there is no ablation');
    expect(() => withoutIt('nothing', ablation)).toThrow(ablation.name);
    expect(() => withoutIt(ablation.text + ablation.text, ablation)).toThrow(ablation.name);
  });
});
