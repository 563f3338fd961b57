import { type ReactNode, useState } from 'react';

interface DetailsProps {
  readonly title: string;
  readonly className?: string;
  readonly children: ReactNode;
}

/** A title that opens what is below it. That is rendered only while it is open: a page may have a thousand of them. */
export function Details({ title, className = 'below', children }: DetailsProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className={className} onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <summary>{title}</summary>
      {isOpen && children}
    </details>
  );
}
