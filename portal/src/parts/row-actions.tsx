import { Menu, MenuItem, MenuTrigger, Popover } from 'react-aria-components';
import { Button } from './button.tsx';
import { useMedia } from './media.ts';

interface RowActionsProps {
  /** Name of the row, for screen readers. */
  readonly of: string;
  readonly actions: readonly { readonly word: string; readonly onChoose: () => void }[];
}

/** The actions on a row of a table: buttons, or a menu where the window is narrow. */
export function RowActions({ of, actions }: RowActionsProps) {
  // Up to this width, buttons would cover the columns beside them.
  const isNarrow = useMedia('(max-width: 1500px)');
  if (isNarrow) {
    return (
      <MenuTrigger>
        <Button kind="quiet" size="small" icon="more" aria-label={`Actions on ${of}`} />
        <Popover className="card popup-menu" placement="bottom end">
          <Menu aria-label={`Actions on ${of}`}>
            {actions.map(({ word, onChoose }) => (
              <MenuItem key={word} className="popup-menu-item" onAction={onChoose}>
                {word}
              </MenuItem>
            ))}
          </Menu>
        </Popover>
      </MenuTrigger>
    );
  }
  return (
    <div className="row-actions">
      {actions.map(({ word, onChoose }) => (
        <Button key={word} kind="quiet" size="small" aria-label={`${word} ${of}`} onPress={onChoose}>
          {word}
        </Button>
      ))}
    </div>
  );
}
