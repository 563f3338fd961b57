import type { ReactNode } from 'react';
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from 'react-aria-components';
import { Icon, type IconName } from '../shell/icons.tsx';

interface ButtonProps extends Omit<AriaButtonProps, 'className' | 'style' | 'children'> {
  readonly kind?: 'primary' | 'danger' | 'quiet';
  readonly size?: 'small';
  readonly icon?: IconName;
  /** Without words the button needs an `aria-label`. */
  readonly children?: ReactNode;
}

export function Button({ kind, size, icon, children, ...rest }: ButtonProps) {
  return (
    <AriaButton
      {...rest}
      className="button"
      data-kind={kind}
      data-size={size}
      data-icon={children === undefined ? '' : undefined}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </AriaButton>
  );
}
