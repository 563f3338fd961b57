import type { Chance } from '../../../support/chance.ts';
import type { Body } from './valid-body.ts';

/** One or more values of every type that JSON has. */
export const anyValues: readonly unknown[] = [
  ...[null, true, false],
  ...[0, -1, 1, 1.5, -0.0001, 2 ** 31, 2 ** 53, -(2 ** 63), 1e21, 1e308, 5e-324],
  ...['', ' ', 'x', '0', 'null', 'auto', 'none', 'x'.repeat(5000), '\ud800', '\u0000', '__proto__'],
  ...[[], [[]], [null], [0], [''], ['a', 5], Array.from({ length: 300 }, () => ({}))],
  ...[{}, { a: 1 }, { type: 'text' }, { type: 'function' }, { '': '' }, { role: 'user', content: 'hi' }],
];

const anyValue = (chance: Chance): unknown => structuredClone(chance.pick(anyValues));

type Holder = Record<string, unknown> | unknown[];

/** Every object and array of a body, itself included. */
function holdersOf(value: unknown): readonly Holder[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Holder;
  return [holder, ...Object.values(holder).flatMap(holdersOf)];
}

const hostileKeys = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '',
  'then',
  '$ref',
  'length',
];

function put(holder: Holder, key: string, value: unknown): void {
  // Assigning to `__proto__` would change the holder instead of its fields.
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Changes one thing somewhere in a body. */
export function mutate(body: Body, chance: Chance): void {
  const holder = chance.pick(holdersOf(body));
  const keys = Object.keys(holder);
  if (keys.length === 0 || chance.is(0.1)) {
    put(holder, Array.isArray(holder) ? String(holder.length) : chance.pick(hostileKeys), anyValue(chance));
    return;
  }
  const key = chance.pick(keys);
  const value = (holder as Record<string, unknown>)[key];
  switch (chance.below(6)) {
    case 0:
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
      return;
    case 1:
      return put(holder, key, [value, value]);
    case 2:
      return put(holder, key, { [key]: value });
    case 3:
      return put(holder, Array.isArray(holder) ? key : key.toUpperCase(), value);
    case 4:
      return put(holder, key, typeof value === 'string' ? value.repeat(chance.below(200)) : JSON.stringify(value));
    default:
      return put(holder, key, anyValue(chance));
  }
}
