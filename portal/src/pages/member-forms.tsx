import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import type { MemberChangeObject, MemberObject, NewMemberObject } from '../../../src/portal/api/members.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Select, TextField, textOf, valueOf } from '../parts/fields.tsx';
import { fieldErrors, FormEnd } from '../parts/form-end.tsx';

type Role = MemberObject['role'];

/** The roles in words, strongest first. */
export const roleWords: readonly { readonly role: Role; readonly word: string; readonly text: string }[] = [
  { role: 'owner', word: 'Owner', text: 'Manages members and all keys of the workspace.' },
  { role: 'member', word: 'Member', text: 'Makes keys, changes and revokes its own, tries models, sees usage.' },
  { role: 'viewer', word: 'Viewer', text: 'Sees keys, usage, requests and the balance. Changes nothing.' },
];

export const wordOf = (role: Role): string => roleWords.find((one) => one.role === role)?.word ?? role;

const roleOf = (form: FormData): Role => {
  const given = valueOf(form, 'role');
  return roleWords.find(({ role }) => role === given)?.role ?? 'viewer';
};

interface FormProps<Given> {
  readonly onClose: () => void;
  readonly onSubmit: (given: Given) => Promise<void>;
}

/** Gives an address a role. */
export function InviteMember({
  workspace,
  onClose,
  onSubmit,
}: FormProps<NewMemberObject> & { readonly workspace: string }) {
  const invite = useMutation({ mutationFn: onSubmit, onSuccess: onClose });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    invite.mutate({ address: textOf(form, 'address'), role: roleOf(form) });
  };
  return (
    <Dialog title={`Invite to ${workspace}`} isOpen onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField
          label="E-mail address"
          name="address"
          type="email"
          required
          autoFocus
          error={fieldErrors(invite)('address')}
          hint="The role holds from the first sign-in with this address on. Weir sends no mail: send the address of this portal yourself."
        />
        <RoleSelect value="member" />
        <FormEnd action="Invite" state={invite} fields={['address']} onClose={onClose} />
      </form>
    </Dialog>
  );
}

/** Gives a member another role. */
export function ChangeRole({ of, onClose, onSubmit }: FormProps<MemberChangeObject> & { readonly of: MemberObject }) {
  const change = useMutation({ mutationFn: onSubmit, onSuccess: onClose });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const role = roleOf(new FormData(event.currentTarget));
    // An unchanged role is not sent: it may be out of date.
    if (role === of.role) onClose();
    else change.mutate({ role });
  };
  return (
    <Dialog title={`Role of ${of.address ?? of.name ?? of.id}`} isOpen onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <RoleSelect value={of.role} autoFocus />
        <FormEnd action="Save" state={change} fields={[]} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function RoleSelect({ value, autoFocus = false }: { readonly value: Role; readonly autoFocus?: boolean }) {
  return (
    <Select
      label="Role"
      name="role"
      defaultValue={value}
      autoFocus={autoFocus}
      options={roleWords.map(({ role, word, text }) => ({ value: role, label: `${word}: ${text}` }))}
    />
  );
}
