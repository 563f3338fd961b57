import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components';
import { Copy } from './copy.tsx';

interface CodeTabsProps {
  /** What the code is about, for screen readers. */
  readonly of: string;
  readonly examples: readonly { readonly name: string; readonly code: string }[];
}

/** The same program in several languages, each with a button that copies it. */
export function CodeTabs({ of, examples }: CodeTabsProps) {
  return (
    <Tabs className="stack-tight">
      <TabList aria-label={`Languages, ${of}`} className="segments" style={{ width: 'fit-content' }}>
        {examples.map(({ name }) => (
          <Tab key={name} id={name} className="segment" style={{ display: 'flex', alignItems: 'center' }}>
            {name}
          </Tab>
        ))}
      </TabList>
      {examples.map(({ name, code }) => (
        <TabPanel key={name} id={name} className="stack-tight">
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- A box that scrolls must be reachable by the keyboard. */}
          <pre className="code" tabIndex={0} role="region" aria-label={`${name}, ${of}`}>
            {code}
          </pre>
          <div>
            <Copy text={code} label={`${name} example`} size="small" />
          </div>
        </TabPanel>
      ))}
    </Tabs>
  );
}
