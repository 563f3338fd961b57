import { CommanderError } from 'commander';
import { expect, it } from 'vitest';
import { refusal } from '../../books/core/operator-refusals.ts';
import { CannotOpen } from '../../books/databases/database.ts';
import { openDatabase } from '../../books/databases/open-database.ts';
import { complaint } from './complaint.ts';

const missing = { kind: 'sqlite', file: '/nowhere/weir.db' } as const;
const open = (): Promise<unknown> =>
  openDatabase(missing, { missing: 'refuse', user: 'operator' }).catch((error: unknown) => error);

it.each([
  ['a refusal', async () => refusal('port_taken', { port: 8080 }), 'port_taken', /^Port 8080 is taken/],
  ['a missing database', open, 'database_missing', /^There is no database at \/nowhere\/weir\.db\./],
  [
    'a database that does not answer',
    async () => new CannotOpen({ kind: 'postgres', url: 'postgres://u:secret@h/d' }, new Error('gone'), 'down'),
    ...['database_not_opened', /^Cannot open the PostgreSQL database d at h: gone\.$/],
  ],
  [
    'a wrong option',
    async () => new CommanderError(1, 'commander.unknownOption', "error: unknown option '--x'"),
    ...['command_malformed', /^unknown option '--x'$/],
  ],
  ['an error of a program', async () => Object.assign(new Error('oh'), { code: 'ENOENT' }), undefined, /^oh$/],
] as const)('of %s has its code as JSON', async (_, fails, code, error) => {
  const printed: unknown = JSON.parse(complaint(await fails(), 'json'));
  expect(printed).toEqual({ error: expect.stringMatching(error), ...(code !== undefined && { code }) });
});

it('is one line of a command, and all lines of a start', () => {
  const refused = refusal('manifests_refused', { folder: 'm', problems: '\n  a: b\n  c: d' });
  expect(complaint(refused, 'text')).toBe('weir: The manifests in m contain mistakes:   a: b   c: d\n');
  expect(complaint(refused, 'lines')).toBe('weir: The manifests in m contain mistakes:\n  a: b\n  c: d\n');
});
