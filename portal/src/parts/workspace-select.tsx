import { useAddress } from '../data/address.ts';
import { useSession } from '../data/session.ts';
import { useChosenWorkspace, useWorkspaceChoices } from '../data/workspaces.ts';
import { Select } from './fields.tsx';

/** Which workspace the page is about; left out where there is nothing to choose. `all`: an admin may see all of them together. */
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
