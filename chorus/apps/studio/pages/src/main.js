import { mount } from 'svelte';
import App from './App.svelte';
import './shell/style.css';

mount(App, { target: document.getElementById('studio') });
