import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readPage, withoutMarks, writtenPages } from '../../scripts/pages.ts';
import { allowsIn, type RoleInWorkspace } from '../../src/books/core/rights.ts';
import { accessTable, accessTo } from '../../src/portal/access.ts';

// Names and columns that people write on pages, and that no generator fills: each is compared with the source.

const pages = writtenPages().filter((path) => !/^docs\/(?:decisions|lab)\//.test(path));
const source = globSync('src/**/*.ts')
  .filter((file) => !file.endsWith('.test.ts'))
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');

/** Messages of the log that a text quotes, such as `journal replayed` in the log. */
function quotedMessages(text: string): readonly string[] {
  const quoted = [
    ...text.matchAll(/`([^`\n]+)`(?: records?)? in the log/g),
    ...text.matchAll(/\b(?:log|log record|log line|warning|record)(?: is| contains|:|,)? `([^`\n]+)`/g),
  ];
  return quoted.map(([, message = '']) => message).filter((message) => /^[A-Za-z]+ [a-z][\w:;, ]+$/.test(message));
}

it('messages of the log on pages are those of the source', () => {
  const isThere = (message: string): boolean => source.includes(`'${message}`) || source.includes(`\`${message}`);
  expect(quotedMessages('Read `no such message` in the log.')).toEqual(['no such message']);
  expect(isThere('no such message')).toBe(false);
  const quoted = pages.flatMap((path) => quotedMessages(readPage(path)).map((message) => ({ path, message })));
  expect(quoted.length).toBeGreaterThan(12);
  expect(quoted.filter(({ message }) => !isThere(message))).toEqual([]);
});

/** The callers of a route, as the table of the admin API names them. */
function callersOf(route: string): string {
  const access = accessTo(route);
  if (access === undefined || access === 'everyone') return access ?? `no route ${route}`;
  if (access === 'signed-in') return 'signed in';
  const has = (role: RoleInWorkspace): boolean =>
    allowsIn({ kind: 'roles', roles: new Map([['ws', role]]) }, access, 'ws');
  if (has('key')) return 'signed in';
  if (has('member')) return 'members';
  return has('owner') ? 'owners' : 'admins';
}

it('the admin API names the callers of each route', () => {
  const rows = readPage('docs/reference/admin-api.md').matchAll(/^\| (`(?:GET|POST|PATCH|DELETE) \/.*?) \| (.*?) \|/gm);
  const named = [...rows].map(([, routes = '', callers = '']) => {
    const paths = [...routes.matchAll(/`([A-Z]+) (\/[\w/{}-]+)/g)].map(
      ([, method = '', path = '']) => `${method} /api/v1${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
    );
    return { paths, callers: callers.split('; ') };
  });
  expect(named.flatMap(({ paths }) => paths)).toHaveLength(Object.keys(accessTable).length - 1);
  expect(named).toEqual(
    named.map(({ paths }) => ({ paths, callers: [...new Set(paths.map((route) => callersOf(route)))] })),
  );
});

it('headers of Weir on pages are those of the source', () => {
  const named = pages.flatMap((path) =>
    [...withoutMarks(readPage(path)).matchAll(/`(x-(?:weir|ratelimit|service|gateway)-[\w-]*\w)[`:]/gi)].map(
      ([, name = '']) => ({ path, name: name.toLowerCase() }),
    ),
  );
  expect(named.length).toBeGreaterThan(20);
  const text = source.toLowerCase();
  expect(text).not.toContain('x-weir-nothing');
  // The headers of a rate are made of a kind and an end.
  expect(named.filter(({ name }) => !text.includes(name) && !name.startsWith('x-ratelimit-'))).toEqual([]);
});

it('each figure in the tables of limits comes from the source', () => {
  const page = readPage('docs/reference/limits.md').replaceAll(/<!-- [\w-]+: generated[^]*?<!-- end of .*? -->/g, '');
  const cells = [...page.matchAll(/^\|.*\|$/gm)].flatMap(([row]) => row.split('|').map((cell) => cell.trim()));
  const figure =
    /(?<![\w/`=.-])\d[\d,.]*(?! ?<!--=|[\d,.]*<!--=)(?= ?(?:s|minutes|Ki?B|MiB|%|a second|a minute|open|times)\b)/;
  expect('15 s').toMatch(figure);
  expect('15<!--=edge.head--> s').not.toMatch(figure);
  expect(cells.filter((cell) => figure.test(cell))).toEqual([]);
});
