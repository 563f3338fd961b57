import { InvalidArgumentError } from 'commander';
import { areLabels, labelsForm } from '../../core/labels.ts';
import { type ModelPatterns, readModelPatterns } from '../../core/model-patterns.ts';
import { readMoment } from '../../core/moment.ts';
import { tagCountsProblem } from '../../core/tags.ts';
import { type Money, parseSpendable, spendableForm } from '../../core/money.ts';

/** Parsers of option values. Each throws commander's error for a bad value, which ends the command with a usage error. */
export function usdOption(text: string): Money {
  const amount = parseSpendable(text);
  if (amount === undefined) throw new InvalidArgumentError(`It must be ${spendableForm}.`);
  return amount;
}

/** Parses an amount, which is negative for a correction. */
export function creditOption(text: string): Money {
  return text.startsWith('-') ? -usdOption(text.slice(1)) : usdOption(text);
}

/** A whole number from `least` to `most`. Default: the maximum of counts. */
export function countOption(least: number, most = 1_000_000_000): (text: string) => number {
  return (text) => {
    const count = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (!(count >= least && count <= most)) {
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    }
    return count;
  };
}

/** One of a few names. */
export function nameOption<Name extends string>(names: readonly Name[]): (text: string) => Name {
  return (text) => {
    const name = names.find((known) => known === text);
    if (name === undefined) throw new InvalidArgumentError(`It must be one of ${names.join(', ')}.`);
    return name;
  };
}

/** A UTC day (`2026-07-01`, its first moment) or a moment with its offset (`2026-07-01T12:00:00Z`). */
export function momentOption(text: string): number {
  const moment = readMoment(text);
  if (moment === undefined) {
    throw new InvalidArgumentError('It must be a UTC day such as 2026-07-01 or a moment such as 2026-07-01T12:00:00Z.');
  }
  return moment;
}

export function modelsOption(text: string): ModelPatterns {
  const read = readModelPatterns(text);
  if ('problem' in read) throw new InvalidArgumentError(read.problem);
  return read.patterns;
}

/** Labels `name=value` with commas; an empty text is none. */
export function labelsOption(text: string): Readonly<Record<string, string>> {
  const parts = text === '' ? [] : text.split(',').map((part) => part.trim().split(/=(.*)/s, 2));
  const labels = Object.fromEntries(parts.map(([name = '', value]) => [name, value ?? '=']));
  if (!areLabels(labels)) throw new InvalidArgumentError(`It must be ${labelsForm}.`);
  return labels;
}

/** Some of a few names, with commas. */
export function namesOption<Name extends string>(names: readonly Name[]): (text: string) => readonly Name[] {
  return (text) => {
    const given = text.split(',');
    const wrong = given.find((one) => !names.some((name) => name === one));
    if (wrong !== undefined) throw new InvalidArgumentError(`"${wrong}" is not one of ${names.join(', ')}.`);
    return names.filter((name) => given.includes(name));
  };
}

/** Numbers by tags: `team=search:60000,app=crawler:5000`. */
export function tagCountsOption(text: string): Readonly<Record<string, number>> {
  const count = countOption(1);
  const counts = Object.fromEntries(
    text
      .split(',')
      .map((part) => [part.slice(0, Math.max(0, part.lastIndexOf(':'))), count(part.split(':').at(-1) ?? '')]),
  );
  const problem = tagCountsProblem(counts);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
  return counts;
}

/** A parser that also accepts one word, which stands for no value. */
export function optionOr<Value>(word: string, parse: (text: string) => Value): (text: string) => Value | typeof absent {
  return (text) => (text === word ? absent : parse(text));
}

/** The result of a parser of `optionOr` for its word. */
export const absent = Symbol('absent');
