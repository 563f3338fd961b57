import type { MemberChangeObject, MemberObject } from '../../../src/portal/api/members.ts';
import { type Option, Select, TextField, textOf, valueOf } from '../parts/fields.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';

type Role = MemberObject['role'];

export interface RoleWords<Name extends string> {
  readonly role: Name;
  readonly word: string;
  readonly text: string;
}

/** The roles in words, strongest first. */
export const roleWords: readonly RoleWords<Role>[] = [
  { role: 'owner', word: 'Owner', text: 'Manages members and all keys of the workspace.' },
  { role: 'member', word: 'Member', text: 'Makes keys, changes and revokes its own, tries models, sees usage.' },
  { role: 'viewer', word: 'Viewer', text: 'Sees keys, usage, requests and the balance. Changes nothing.' },
];

export const wordOf = (role: Role): string => roleWords.find((one) => one.role === role)?.word ?? role;

const roleOptions = (roles: readonly RoleWords<string>[]): readonly Option[] =>
  roles.map(({ role, word, text }) => ({ value: role, label: `${word}: ${text}` }));

const roleIn = <Other extends string>(form: FormData, roles: readonly RoleWords<Role | Other>[]): Role | Other =>
  roles.find(({ role }) => role === valueOf(form, 'role'))?.role ?? 'viewer';

interface InviteProps<Other extends string> {
  readonly title: string;
  readonly action: string;
  readonly hint: string;
  readonly roles: readonly RoleWords<Role | Other>[];
  readonly onClose: () => void;
  readonly onSubmit: (given: { readonly address: string; readonly role: Role | Other }) => Promise<void>;
}

/** Gives an address a role. */
export function Invite<Other extends string = never>({ hint, roles, ...rest }: InviteProps<Other>) {
  return (
    <FormDialog
      first={{ address: '', role: 'member' }}
      read={(form) => ({ address: textOf(form, 'address'), role: roleIn(form, roles) })}
      {...rest}
    >
      {(fieldOf) => (
        <>
          <TextField label="E-mail address" type="email" required autoFocus hint={hint} {...fieldOf('address')} />
          <Select label="Role" options={roleOptions(roles)} {...fieldOf('role')} />
        </>
      )}
    </FormDialog>
  );
}

interface ChangeRoleProps {
  readonly of: MemberObject;
  readonly onClose: () => void;
  readonly onSubmit: (given: MemberChangeObject) => Promise<void>;
}

/** Gives a member another role. */
export function ChangeRole({ of, onClose, onSubmit }: ChangeRoleProps) {
  return (
    <FormDialog
      title={`Role of ${of.address ?? of.name ?? of.id}`}
      action="Save"
      first={{ role: of.role }}
      read={(form): MemberChangeObject => ({ role: roleIn(form, roleWords) })}
      onClose={onClose}
      // An unchanged role is not sent: it may be out of date.
      onSubmit={async (given) => given.role === of.role || onSubmit(given)}
    >
      {(fieldOf) => <Select label="Role" options={roleOptions(roleWords)} autoFocus {...fieldOf('role')} />}
    </FormDialog>
  );
}
