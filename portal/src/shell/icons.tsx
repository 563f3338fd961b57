import type { ReactNode } from 'react';

const paths = {
  overview: 'M3 12 12 4l9 8M5.5 10v10h13V10M10 20v-5.5h4V20',
  keys: 'M8 11.5a4 4 0 1 0 0 8 4 4 0 0 0 0-8M11 12.5 20 3.5M16.5 7l3 3M13.2 10.3l2 2',
  identities:
    'M4 5h16v14H4zM9 12.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4M6.5 16c.3-1.4 1.3-2 2.5-2s2.2.6 2.5 2M15 10h2.5M15 13.5h2.5',
  usage: 'M4 20V4M4 20h16M8 16v-4M12.5 16V7M17 16v-6',
  balance: 'M3.5 7.5h17v11h-17zM3.5 7.5l11-4v4M16 13h.01',
  models: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
  requests: 'M4 6h16M4 12h16M4 18h10',
  playground: 'M4 5h16v11H9l-5 4z',
  audit: 'M7 3h7l4 4v14H7zM14 3v4h4M10 12h5M10 16h5',
  members:
    'M9 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M2.5 20c0-3.5 3-5.5 6.5-5.5s6.5 2 6.5 5.5M16 4.5a4 4 0 0 1 0 7M18 14.8c2.2.7 3.5 2.5 3.5 5.2',
  workspaces: 'M4 21V9l6-4v16M10 21V3l10 5v13M3 21h18M14 11h2M14 15h2',
  backends: 'M4 4h16v6H4zM4 14h16v6H4zM8 7h.01M8 17h.01',
  top: 'M4 7h16M4 12h11M4 17h6',
  menu: 'M4 7h16M4 12h16M4 17h16',
  more: 'M12 5h.01M12 12h.01M12 19h.01',
  close: 'M6 6l12 12M18 6 6 18',
  previous: 'M14.5 6l-6 6 6 6',
  next: 'M9.5 6l6 6-6 6',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  filter: 'M4 6h16M7 12h10M10 18h4',
  plus: 'M12 5v14M5 12h14',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  leave: 'M10 4H5v16h5M14 8l4 4-4 4M18 12H9',
  stop: 'M7 7h10v10H7z',
  send: 'M5 12h13M13 6l6 6-6 6',
} as const;

export type IconName = keyof typeof paths;

/** A picture beside a text; screen readers skip it. */
export function Icon({ name }: { readonly name: IconName }): ReactNode {
  return (
    <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" aria-hidden>
      <path d={paths[name]} strokeLinejoin="round" />
    </svg>
  );
}
