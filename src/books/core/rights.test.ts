import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  allowsIn,
  allowsSomewhere,
  type Grant,
  type AccessRight,
  accessRights,
  rightsOf,
  refusalText,
  type RoleInWorkspace,
  scopes,
} from './rights.ts';

const rolesIn = (roles: Readonly<Record<string, RoleInWorkspace>>): Grant => ({
  kind: 'roles',
  roles: new Map(Object.entries(roles)),
});

describe('roles in a workspace', () => {
  it.each<[RoleInWorkspace, readonly AccessRight[]]>([
    ['key', ['key:read', 'usage:read', 'requests:read', 'models:read']],
    [
      'viewer',
      [
        ...(['workspaces:read', 'balance:read', 'keys:read', 'key:read', 'members:read'] as const),
        ...(['service-accounts:read', 'usage:read', 'tags:read', 'requests:read', 'models:read'] as const),
        ...(['audit:read', 'events:read'] as const),
      ],
    ],
  ])('a %s only looks', (role, expected) => {
    expect(rightsOf(role)).toEqual(expected);
  });

  it('a member makes keys, changes own keys and tries models, besides all that a viewer may', () => {
    const more = rightsOf('member').filter((right) => !rightsOf('viewer').includes(right));
    expect(more).toEqual(['keys:create', 'own-keys:change', 'playground:use']);
  });

  it('an owner changes the keys of others and members, besides all that a member may', () => {
    const more = rightsOf('owner').filter((right) => !rightsOf('member').includes(right));
    expect(more).toEqual(['tag-budgets:change', 'keys:change', 'members:change']);
  });

  it('hold in their workspace alone', () => {
    const grant = rolesIn({ ws_1: 'owner', ws_2: 'viewer' });
    expect(['ws_1', 'ws_2', 'ws_3'].map((id) => allowsIn(grant, 'members:change', id))).toEqual([true, false, false]);
    expect(allowsSomewhere(grant, 'members:change')).toBe(true);
    expect(allowsSomewhere(rolesIn({ ws_2: 'viewer' }), 'members:change')).toBe(false);
  });

  it('an admin may do everything everywhere', () => {
    for (const right of accessRights) expect(allowsIn({ kind: 'admin' }, right, 'ws_1'), right).toBe(true);
  });
});

describe('scopes', () => {
  it('each opens something', () => {
    for (const scope of scopes) {
      const grant: Grant = { kind: 'scopes', scopes: [scope], workspaces: undefined };
      expect(
        accessRights.some((right) => allowsSomewhere(grant, right)),
        scope,
      ).toBe(true);
    }
  });

  it('hold in the workspaces of the account, and not for the whole gateway', () => {
    const grant: Grant = { kind: 'scopes', scopes: ['keys:write', 'backends:read'], workspaces: ['ws_1'] };
    expect(allowsIn(grant, 'keys:change', 'ws_1')).toBe(true);
    expect(allowsIn(grant, 'keys:change', 'ws_2')).toBe(false);
    expect(allowsIn(grant, 'keys:read', 'ws_1')).toBe(false);
    expect(allowsSomewhere(grant, 'backends:read')).toBe(false);
    expect(allowsSomewhere({ ...grant, workspaces: undefined }, 'backends:read')).toBe(true);
  });
});

describe('a refusal', () => {
  const acme = { id: 'ws_1', name: 'acme' };
  const some: Grant = { kind: 'scopes', scopes: ['backends:read', 'keys:read'], workspaces: ['ws_2'] };
  it.each<[Grant, AccessRight, typeof acme | undefined, string]>([
    [
      rolesIn({ ws_1: 'viewer' }),
      'members:change',
      acme,
      'This takes the role owner. You are viewer in the workspace "acme".',
    ],
    [
      rolesIn({ ws_1: 'viewer' }),
      'keys:create',
      undefined,
      'This takes the role member or a stronger one. You are viewer.',
    ],
    [rolesIn({ ws_1: 'owner' }), 'workspaces:create', undefined, 'Only an admin may do this. You are owner.'],
    [
      rolesIn({ ws_1: 'key' }),
      'keys:read',
      undefined,
      'An API key may not do this. This takes the role viewer or a stronger one.',
    ],
    [some, 'usage:read', acme, 'This token lacks the scope usage:read.'],
    [some, 'keys:read', acme, 'This token has the scope keys:read only for other workspaces.'],
    [some, 'backends:read', undefined, 'This takes the scope backends:read for all workspaces.'],
    [some, 'playground:use', acme, 'A service account may not do this: it takes a person.'],
  ])('of %j, %s: names what is needed', (grant, right, where, expected) => {
    expect(refusalText(grant, right, where)).toBe(expected);
  });
});

it('the page of the portal has the table as it is', () => {
  const page = readFileSync(new URL('../../../docs/how-to/portal.md', import.meta.url), 'utf8');
  const [, section = ''] = page.split('### Roles');
  const rows = (section.split('\n## ')[0] ?? '').matchAll(/^\| `([\w-]+:\w+)` .*\|$/gm);
  const scopeOf = (right: AccessRight) =>
    scopes.find((scope) => allowsSomewhere({ kind: 'scopes', scopes: [scope], workspaces: undefined }, right));
  const cells = (right: AccessRight): readonly string[] => [
    ...(['owner', 'member', 'viewer', 'key'] as const).map((role) => (rightsOf(role).includes(right) ? 'yes' : '–')),
    ...[scopeOf(right)].map((scope) => (scope === undefined ? '–' : `\`${scope}\``)),
  ];
  expect([...rows].map(([row]) => row.replaceAll(/ +/g, ' '))).toEqual(
    accessRights.map((right) => `| \`${right}\` | ${cells(right).join(' | ')} |`),
  );
  for (const scope of scopes) expect(page).toContain(`\`${scope}\``);
});
