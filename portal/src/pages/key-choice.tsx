import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ComboBox, Input, Label, ListBox, ListBoxItem, Popover } from 'react-aria-components';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import { call, type Page, withQuery } from '../data/api.ts';

interface KeyChoiceProps {
  readonly workspaceId: string;
  readonly chosen: string | undefined;
  readonly onChange: (id: string | undefined) => void;
}

interface Choice {
  readonly id: string;
  readonly text: string;
  readonly prefix: string | null;
}

/** Stands for all keys. */
const all: Choice = { id: '', text: 'All keys', prefix: null };

/** Last in a list that does not have all keys. Cannot be chosen. */
const more: Choice = { id: 'more', text: 'Type a part of a name to find more.', prefix: null };

const keyOf = (id: string | undefined): readonly unknown[] => ['keys', id];

/** Chooses one of the keys of a workspace. The portal searches them by what is typed, because a list of all would be long. */
export function KeyChoice({ workspaceId, chosen, onChange }: KeyChoiceProps) {
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  /** Undefined: the name of the chosen key is shown. */
  const [typed, setTyped] = useState<string>();
  const own = useQuery({
    queryKey: keyOf(chosen),
    queryFn: () => call<KeyObject>(`/keys/${chosen ?? ''}`),
    enabled: chosen !== undefined,
  });
  const search = typed?.trim();
  const found = useQuery({
    queryKey: ['keys', workspaceId, 'choice', search],
    queryFn: ({ signal }) =>
      call<Page<KeyObject>>(withQuery(`/workspaces/${workspaceId}/keys`, { search }), { signal }),
    enabled: isOpen,
    placeholderData: keepPreviousData,
  });
  const shown = chosen === undefined ? all.text : (own.data?.name ?? chosen);
  const keys = found.data?.data ?? [];
  const isListed = chosen === undefined || keys.some(({ id }) => id === chosen);
  const choices: readonly Choice[] = [
    all,
    ...(isListed ? [] : [{ id: chosen, text: shown, prefix: null }]),
    ...keys.map(({ id, name, prefix }) => ({ id, text: name ?? id, prefix })),
    ...(typeof found.data?.next_cursor === 'string' ? [more] : []),
  ];

  function choose(id: string): void {
    setTyped(undefined);
    const key = keys.find((one) => one.id === id);
    // The name of the key is known, so the field shows it at once.
    if (key !== undefined) client.setQueryData(keyOf(id), key);
    onChange(id === all.id ? undefined : id);
  }

  return (
    <ComboBox
      className="field"
      menuTrigger="focus"
      items={choices}
      disabledKeys={[more.id]}
      inputValue={typed ?? shown}
      onInputChange={(text) => setTyped(text === shown ? undefined : text)}
      selectedKey={chosen ?? all.id}
      onSelectionChange={(id) => {
        if (id !== null) choose(String(id));
      }}
      onOpenChange={(open) => {
        setOpen(open);
        if (!open) setTyped(undefined);
      }}
    >
      <Label>Key</Label>
      <Input className="input" onFocus={({ currentTarget }) => currentTarget.select()} />
      <Popover className="popup-menu popup-list" placement="bottom start">
        <ListBox<Choice>>
          {({ id, text, prefix }) => (
            <ListBoxItem id={id} textValue={text} className="popup-menu-item">
              {text}
              {prefix !== null && <code className="small muted"> {prefix}…</code>}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}
