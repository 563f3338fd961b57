import { Refusal } from '../core/administration.ts';

/** Throws a `Refusal` if a list has as many entries as it may have, before another one is added. */
export function refuseBeyond(
  size: number | bigint,
  max: number,
  {
    list,
    entries,
    field,
    remedy = 'Remove one first.',
  }: { readonly list: string; readonly entries: string; readonly field: string; readonly remedy?: string },
): void {
  if (size < max) return;
  throw new Refusal(`${list} has at most ${max} ${entries}. ${remedy}`, { kind: 'conflict', field });
}
