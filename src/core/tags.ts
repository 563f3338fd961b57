import { z } from 'zod';
import type { RequestHead } from './exchange.ts';
import { Failure } from './failure.ts';
import { listBounds } from './limits.ts';

/** The header in which a caller puts tags on its request: `team=search,app=crawler`. */
export const tagsHeader = 'x-weir-tags';

/** A name and a value, for the people who pay: usage is summed by it, and it can have a budget. */
export interface Tag {
  readonly name: string;
  readonly value: string;
}

const nameForm = /^[a-z][a-z0-9_-]{0,31}$/;
const valueForm = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,63}$/;

/** A whole tag, as the API server can check it. */
export const tagPattern = `${nameForm.source.slice(0, -1)}=${valueForm.source.slice(1)}`;

export const tagForm =
  'name=value: the name has 1 to 32 lowercase letters, digits, "_" and "-", starting with a letter; the value has 1 to 64 letters, digits and "._:/@-", starting with a letter or digit';

/** Reads one tag; undefined if its form is wrong. */
export function tagOf(text: string): Tag | undefined {
  const [name = '', value = ''] = text.split(/=(.*)/s, 2);
  return nameForm.test(name) && valueForm.test(value) ? { name, value } : undefined;
}

/** The name that a report groups by; undefined if its form is wrong. */
export function tagNameOf(text: string): string | undefined {
  return nameForm.test(text) ? text : undefined;
}

export function tagText({ name, value }: Tag): string {
  return `${name}=${value}`;
}

/** The fault of numbers by tags. Undefined: there is none. */
export function tagCountsProblem(counts: Readonly<Record<string, number>>): string | undefined {
  const tags = Object.keys(counts);
  const { maxTagLimits } = listBounds;
  if (tags.length > maxTagLimits) return `expected at most ${maxTagLimits} tags`;
  const malformed = tags.find((tag) => tagOf(tag) === undefined);
  return malformed === undefined ? undefined : `${JSON.stringify(malformed)} is not a tag: expected ${tagForm}`;
}

/** Numbers by tags, as objects and the admin API take them. */
export const tagCounts = (count: z.ZodType<number>) =>
  z.record(z.string(), count).superRefine((given, context) => {
    const message = tagCountsProblem(given);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

/** The value that stands for all values of a name beyond the bounds, and the name and value for all names beyond them. */
export const otherTags = 'other';

/** The tags of a workspace that count by themselves although their name, or the workspace, is full. */
export interface CountedTags {
  /** Every name, if the workspace is full. Undefined: it has room for names. */
  readonly names: ReadonlySet<string> | undefined;
  /** Every value of the names that are full. Names with room are missing. */
  readonly values: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The tags that a request counts as, in the form of `readTags`: tags beyond the bounds count as `other`. */
export function countedTagsOf(text: string | undefined, counted: CountedTags | undefined): string | undefined {
  if (text === undefined || counted === undefined) return text;
  return tagList(tagsIn(text).map((tag) => countedTag(tag, counted)));
}

function countedTag(tag: Tag, { names, values }: CountedTags): Tag {
  if (names?.has(tag.name) === false) return { name: otherTags, value: otherTags };
  return values.get(tag.name)?.has(tag.value) === false ? { ...tag, value: otherTags } : tag;
}

/** The text of tags, each once, as the ledger has it. */
export function tagList(tags: readonly Tag[]): string | undefined {
  return tags.length === 0 ? undefined : [...new Set(tags.map(tagText))].toSorted().join(',');
}

/** The tags in the text of a settled request. */
export function tagsIn(text: string | undefined): readonly Tag[] {
  return text === undefined ? [] : text.split(',').flatMap((part) => tagOf(part) ?? []);
}

/**
 * Reads the tags of a request: as texts `name=value`, in ascending order, with a comma between them. Undefined: it has
 * none. Throws `invalid_request` for a tag with a wrong form, for two of one name, and for more than `maxRequestTags`.
 */
export function readTags(head: Pick<RequestHead, 'header'>): string | undefined {
  const header = head.header(tagsHeader);
  if (header === undefined) return undefined;
  const parts = header
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length === 0) return undefined;
  if (parts.length > listBounds.maxRequestTags)
    throw refusal(`it has ${parts.length} tags, and at most ${listBounds.maxRequestTags} are allowed`);
  const tags = new Map<string, string>();
  for (const part of parts) {
    const tag = tagOf(part);
    if (tag === undefined)
      throw refusal(`expected up to ${listBounds.maxRequestTags} tags with commas, each ${tagForm}`);
    if (tags.has(tag.name)) throw refusal(`the tag "${tag.name}" is there twice`);
    tags.set(tag.name, tagText(tag));
  }
  return [...tags.values()].toSorted().join(',');
}

/**
 * The tags of a request with those of its identity, which win. A character that no tag can have becomes a hyphen. Throws
 * `invalid_request` for more than `maxRequestTags`.
 */
export function withOwnTags(sent: string | undefined, own: Readonly<Record<string, string>> = {}): string | undefined {
  const names = Object.keys(own);
  if (names.length === 0) return sent;
  const others = tagsIn(sent).filter(({ name }) => !names.includes(name));
  if (others.length + names.length > listBounds.maxRequestTags)
    throw refusal(`at most ${listBounds.maxRequestTags} tags are allowed, with ${names.join(', ')} of the identity`);
  return tagList([...others, ...names.map((name) => ({ name, value: valueOf(own[name] ?? '') }))]);
}

const valueOf = (text: string): string =>
  text
    .replaceAll(/[^A-Za-z0-9._:/@-]/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64) || otherTags;

function refusal(why: string): Failure {
  return new Failure('invalid_request', `${tagsHeader}: ${why}.`);
}
