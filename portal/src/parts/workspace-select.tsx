import { useAddress } from '../data/address.ts';
import { useChosenWorkspace, useWorkspaceChoices } from '../data/workspaces.ts';
import { Select } from './fields.tsx';

/** Which workspace the page is about; left out where there is nothing to choose. */
export function WorkspaceSelect({ all }: { readonly all?: true }) {
  const choices = useWorkspaceChoices();
  const chosen = useChosenWorkspace();
  const [{ workspace }, change] = useAddress();
  if (choices === undefined || choices.length < 2) return null;
  return (
    <Select
      label="Workspace"
      value={all ? (workspace ?? '') : (chosen?.name ?? '')}
      onChange={(name) => change({ workspace: name, key: undefined })}
      options={[
        ...(all ? [{ value: '', label: 'All workspaces' }] : []),
        ...choices.map(({ name }) => ({ value: name, label: name })),
      ]}
    />
  );
}
