import { useAddress } from '../data/address.ts';
import { useSession } from '../data/session.ts';
import { useChosenWorkspace, useWorkspaceChoices } from '../data/workspaces.ts';
import { Select } from './fields.tsx';

/** Selects the workspace of the page. Hidden where there is no choice. `all`: an admin may select all workspaces together. */
export function WorkspaceSelect({ all }: { readonly all?: true }) {
  const session = useSession();
  const choices = useWorkspaceChoices();
  const chosen = useChosenWorkspace();
  const [{ workspace }, change] = useAddress();
  if (choices === undefined || choices.length < 2) return null;
  const isAll = all === true && session.role === 'admin';
  return (
    <Select
      label="Workspace"
      value={isAll ? (workspace ?? '') : (chosen?.name ?? '')}
      onChange={(name) => change({ workspace: name, key: undefined })}
      options={[
        ...(isAll ? [{ value: '', label: 'All workspaces' }] : []),
        ...choices.map(({ name }) => ({ value: name, label: name })),
      ]}
    />
  );
}
