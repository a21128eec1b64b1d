import { Menu } from "../components/Menu";
import { act } from "../state/notices";
import { logout, session } from "../state/session";

/** Who is logged in, in which role. */
export function UserMenu() {
  const found = session.value;
  if (!found) return null;
  if (found.authentication === "open") return <span class="who hide-phone" title="No login is set up: everybody who reaches this page has this role"><span class="muted">open · {found.role}</span></span>;
  if (found.authentication !== "session") return <span class="who hide-phone" title={`Logged in by ${found.authentication}`}>{found.actor} <span class="muted">{found.role}</span></span>;
  return (
    <Menu label={found.actor}>
      <p class="menu-note">{found.actor} is {found.role}{found.tenant ? `, tenant ${found.tenant}` : ""}</p>
      <button type="button" onClick={() => void act("Logged out", logout)}>Log out</button>
    </Menu>
  );
}
