import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { ComboBox, Input, Label, ListBox, ListBoxItem, Popover } from 'react-aria-components';
import { useLocation } from 'wouter';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import type { ListedRequestObject } from '../../../src/portal/api/requests.ts';
import { call, type Page, withQuery } from '../data/api.ts';
import { modelPath, useModels } from '../data/models.ts';
import { useChosenWorkspace, useWorkspaceChoices } from '../data/workspaces.ts';
import { Dialog } from '../parts/dialog.tsx';

interface Place {
  readonly href: string;
  readonly text: string;
  readonly kind: 'Key' | 'Workspace' | 'Model' | 'Request';
  readonly note: string | null;
}

/** Most places of each kind. */
const mostOfKind = 6;
/** Workspaces whose keys are searched: each is a request, and the portal takes a few of a session at a time. */
const mostWorkspaces = 12;
/** Ids are longer than this; a shorter text is a name. */
const shortestId = 8;
const pauseMs = 150;

/** Finds keys, workspaces, models and requests by name or id, and goes to one. */
export function Jump({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const [, navigate] = useLocation();
  const { places, isCut } = usePlaces(text.trim());
  const go = (href: string | undefined): void => {
    if (href === undefined) return;
    onClose();
    navigate(href);
  };
  return (
    <Dialog title="Jump to" onClose={onClose}>
      <ComboBox
        className="field"
        autoFocus
        allowsEmptyCollection={text !== ''}
        items={places}
        inputValue={text}
        onInputChange={setText}
        selectedKey={null}
        onSelectionChange={(href) => {
          if (href !== null) go(String(href));
        }}
      >
        <Label>Key, workspace, model or request, by name or id</Label>
        <Input
          className="input"
          onKeyDown={({ key, currentTarget }) => {
            // Without a choice in the list, Enter takes the first.
            if (key === 'Escape') onClose();
            if (key === 'Enter' && !currentTarget.hasAttribute('aria-activedescendant')) go(places[0]?.href);
          }}
        />
        <Popover className="card popup-menu popup-list" placement="bottom start">
          <ListBox<Place> renderEmptyState={() => <span className="popup-menu-item muted">Nothing found</span>}>
            {({ href, text: name, kind, note }) => (
              <ListBoxItem id={href} textValue={name} className="popup-menu-item">
                <span className="small muted">{kind}</span> {name}
                {note !== null && <span className="small muted"> {note}</span>}
              </ListBoxItem>
            )}
          </ListBox>
        </Popover>
      </ComboBox>
      <p className="small muted">
        {isCut ? `Keys of ${mostWorkspaces} workspaces are searched, the chosen one first.` : 'Escape closes.'}
      </p>
    </Dialog>
  );
}

/** What has the text in its name or id. Requests are found by their whole id. */
function usePlaces(text: string): { readonly places: readonly Place[]; readonly isCut: boolean } {
  const settled = useSettled(text);
  const models = useModels().data?.data ?? [];
  const choices = useWorkspaceChoices() ?? [];
  const chosen = useChosenWorkspace();
  const searched = [...new Set(chosen === undefined ? choices : [chosen, ...choices])].slice(0, mostWorkspaces);
  const keys = useQuery({
    queryKey: ['keys', 'jump', settled, searched.map(({ id }) => id)],
    queryFn: async ({ signal }) => {
      const query = { search: settled, limit: mostOfKind };
      const pages = searched.map(({ id }) =>
        call<Page<KeyObject>>(withQuery(`/workspaces/${id}/keys`, query), { signal }),
      );
      return (await Promise.all(pages)).flatMap(({ data }) => data).slice(0, mostOfKind);
    },
    enabled: settled !== '',
    placeholderData: keepPreviousData,
  });
  const query = { search: settled, limit: 1, workspace: choices.length > 1 ? undefined : chosen?.id };
  const requests = useQuery({
    queryKey: ['requests', 'jump', settled],
    queryFn: async ({ signal }) =>
      (await call<Page<ListedRequestObject>>(withQuery('/requests', query), { signal })).data,
    enabled: settled.length >= shortestId && !/\s/.test(settled),
  });
  const wanted = text.toLowerCase();
  const has = (...names: readonly string[]): boolean => names.some((name) => name.toLowerCase().includes(wanted));
  if (text === '') return { places: [], isCut: false };
  const places: readonly Place[] = [
    ...choices
      .filter(({ id, name }) => has(id, name))
      .slice(0, mostOfKind)
      .map(({ name }) => placeOf('Workspace', name, withQuery('/balance', { workspace: name }))),
    ...models
      .filter(({ id, aliases }) => has(id, ...aliases))
      .slice(0, mostOfKind)
      .map(({ id }) => placeOf('Model', id, modelPath(id))),
    ...(keys.data ?? [])
      .filter(({ id, name, prefix }) => has(id, name ?? '', prefix ?? ''))
      .map(({ id, name, workspace }) =>
        placeOf('Key', name ?? id, withQuery('/keys', { workspace, search: id }), workspace),
      ),
    ...(requests.data ?? [])
      .filter(({ id, correlation_id: sent }) => id === text || sent === text)
      .map(({ id, model }) => placeOf('Request', id, withQuery('/requests', { request: id }), model)),
  ];
  return { places, isCut: choices.length > mostWorkspaces };
}

const placeOf = (kind: Place['kind'], text: string, href: string, note: string | null = null): Place => ({
  ...{ kind, text, href, note },
});

/** A text once nobody has typed for a moment: each is a question to the portal. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
