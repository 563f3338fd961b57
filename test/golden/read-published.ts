import { readFileSync } from 'node:fs';

/** What a page of docs/ says of the types of a format, and what the format's own library names. */

export const fileOf = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

export interface Row {
  /** The name as the page has it, without its marks. */
  readonly name: string;
  readonly treatment: string;
  /** What stands in marks in the last cell. */
  readonly quoted: readonly string[];
}

/** A table of a page, by the heading above it. */
export function rowsOf(page: string, heading: string): readonly Row[] {
  const [, rest = ''] = page.split(new RegExp(`\n##+ ${heading}\n`));
  const [section = ''] = rest.split(/\n##/);
  return [...section.matchAll(/^\| (`.+?) \| ([a-z ]+) \| (.+) \|$/gm)].map(([, name = '', treatment = '', words = '']) => ({
    ...{ name: name.replaceAll('`', ''), treatment },
    quoted: [...words.matchAll(/`([^`]+)`/g)].map(([, quote = '']) => quote),
  }));
}

export const literalsOf = (text: string): readonly string[] => [...text.matchAll(/'([^']+)'/g)].map(([, literal = '']) => literal);

/** Members of a union of the library. */
export function unionOf(library: string, name: string): readonly string[] {
  const [, members = ''] = new RegExp(`^export type ${name} = (.+);$`, 'm').exec(library) ?? [];
  return members.split(' | ');
}

/** What an interface of the library has as its `type`; `Outer.Inner` is one in a namespace. */
export function typesOf(library: string, name: string): readonly string[] {
  const [inner = '', outer] = name.split('.').toReversed();
  const indent = outer === undefined ? '' : '    ';
  const [, within = library] =
    outer === undefined ? [] : (new RegExp(`^export declare namespace ${outer} \\{\n(.+?)\n\\}`, 'ms').exec(library) ?? []);
  const head = outer === undefined ? 'export interface' : `${indent}interface`;
  const [, body = ''] = new RegExp(`^${head} ${inner}(?: extends \\w+)? \\{\n(.+?)\n${indent}\\}`, 'ms').exec(within) ?? [];
  const [, type = ''] = new RegExp(`^${indent} {4}type\\??: (.+);`, 'm').exec(body) ?? [];
  const literals = literalsOf(type);
  if (literals.length === 0) throw new Error(`${name} has no type: the library is written otherwise than this test reads it`);
  return literals;
}

/** The names of the fields of an interface. */
export function fieldsOf(library: string, name: string): readonly string[] {
  const [, body = ''] = new RegExp(`^export interface ${name} \\{\n(.+?)\n\\}`, 'ms').exec(library) ?? [];
  return [...body.matchAll(/^ {4}(\w+)\??: /gm)].map(([, field = '']) => field);
}
