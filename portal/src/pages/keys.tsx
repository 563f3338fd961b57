import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import type { CreatedKeyObject, KeyObject, KeyChangeObject, NewKeyObject } from '../../../src/portal/api/keys.ts';
import { useAddress } from '../data/address.ts';
import { call } from '../data/api.ts';
import { useList, useSend } from '../data/calls.ts';
import { useMay } from '../data/rights.ts';
import { useChosenWorkspace, useWorkspaceChoices } from '../data/workspaces.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Filters } from '../parts/filters.tsx';
import { More } from '../parts/more.tsx';
import { Page } from '../parts/page.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';
import { AskFirst } from './ask-first.tsx';
import { KeyCard } from './key-card.tsx';
import { KeyForm, type KeyFields } from './key-form.tsx';
import { type KeyAction, KeyTable } from './key-table.tsx';
import { RotateKey } from './rotate-key.tsx';

/** The open dialog. */
type Open = { readonly kind: 'create' } | { readonly kind: KeyAction; readonly of: KeyObject };

/** The keys of a workspace: make, change, rotate, suspend and revoke them. */
export function KeysPage() {
  const choices = useWorkspaceChoices();
  const workspace = useChosenWorkspace();
  const client = useQueryClient();
  const may = useMay();
  const [open, setOpen] = useState<Open>();
  const [created, setCreated] = useState<CreatedKeyObject>();
  const path = `/workspaces/${workspace?.id ?? ''}/keys`;
  const [{ search }] = useAddress();
  const keys = useList<KeyObject>(['keys', workspace?.id], path, {
    query: { search },
    enabled: workspace !== undefined,
  });
  const send = useSend('keys');
  const close = (): void => setOpen(undefined);
  const show = (key: CreatedKeyObject): void => {
    close();
    setCreated(key);
    void client.invalidateQueries({ queryKey: ['keys'] });
  };
  const create = async ({ name, ...given }: KeyFields): Promise<void> => {
    const body: NewKeyObject = { ...given, name: name ?? undefined };
    show(await call(path, { method: 'POST', body }));
  };
  const change = (id: string, given: KeyChangeObject): Promise<void> => send('PATCH', `/keys/${id}`, given);
  const choose = useCallback((kind: KeyAction, of: KeyObject) => setOpen({ kind, of }), []);
  const button = (
    <Button kind="primary" icon="plus" isDisabled={workspace === undefined} onPress={() => setOpen({ kind: 'create' })}>
      Create key
    </Button>
  );
  return (
    <Page
      title="Keys"
      about="Applications send a key with each call."
      actions={may('keys:create') ? button : undefined}
    >
      <Filters label="Search keys" placeholder="Name, id or prefix" fields={[{ name: 'search', label: 'Name' }]}>
        <WorkspaceSelect />
      </Filters>
      {created !== undefined && <KeyCard created={created} onDone={() => setCreated(undefined)} />}
      {choices?.length === 0 ? (
        <Empty title="No workspace yet">
          Keys belong to a workspace, which pays for their requests. Create one first.
        </Empty>
      ) : (
        <Loaded query={keys} lines={12}>
          {(list) =>
            list.length === 0 ? (
              <Empty title={search === undefined ? 'No keys yet' : 'No key found'}>
                {whyEmpty({ search, mayCreate: may('keys:create') })}
              </Empty>
            ) : (
              <KeyTable keys={list} onChoose={choose} />
            )
          }
        </Loaded>
      )}
      <More list={keys} />
      {open?.kind === 'create' && <EditKey onClose={close} onSubmit={create} />}
      {open?.kind === 'edit' && (
        <EditKey of={open.of} onClose={close} onSubmit={(given) => change(open.of.id, given)} />
      )}
      {open?.kind === 'rotate' && <RotateKey of={open.of} onClose={close} onRotated={show} />}
      {(open?.kind === 'suspend' || open?.kind === 'resume' || open?.kind === 'revoke') && (
        <AskFirst
          kind={open.kind}
          what="key"
          name={open.of.name ?? open.of.prefix ?? open.of.id}
          onClose={close}
          onConfirm={(status) =>
            status === 'revoked' ? send('POST', `/keys/${open.of.id}/revoke`) : change(open.of.id, { status })
          }
        />
      )}
    </Page>
  );
}

/** Explains an empty list of keys. */
function whyEmpty({ search, mayCreate }: { readonly search: string | undefined; readonly mayCreate: boolean }): string {
  if (search !== undefined) return `No key of this workspace has “${search}” in its name, id or prefix.`;
  return mayCreate ? 'Create one and give it to your application.' : 'A member of this workspace can create one.';
}

interface EditKeyProps {
  /** Undefined: a new key. */
  readonly of?: KeyObject;
  readonly onClose: () => void;
  readonly onSubmit: (given: KeyFields) => Promise<void>;
}

function EditKey({ of, onClose, onSubmit }: EditKeyProps) {
  const edit = useMutation({ mutationFn: onSubmit, onSuccess: onClose });
  const [title, action] = of === undefined ? ['Create key', 'Create'] : ['Edit key', 'Save'];
  return (
    <Dialog title={title} onClose={onClose}>
      <KeyForm action={action} {...(of && { of })} state={edit} onCancel={onClose} onSubmit={edit.mutate} />
    </Dialog>
  );
}
